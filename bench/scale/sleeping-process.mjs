// One engine process of `npm run bench scale`. Arguments: the URL of NATS, a folder of models, places, milliseconds per
// 100 ms of audio.
import service from '../../packages/service/dist/index.js'
import { createSleepingEngine } from './sleeping-engine.mjs'

const [url = '', folder = '', places = '16', hopMs = '20'] = process.argv.slice(2)
const engine = createSleepingEngine({ places: Number(places), hopMs: Number(hopMs) })
const running = await service.startEngineProcess({
  nats: { servers: [url] },
  modelFolders: [folder],
  engines: [{ name: 'sleeping', open: () => Promise.resolve(engine) }],
})
console.log(JSON.stringify({ instance: running.instance }))
process.on('SIGTERM', () => void running.close({ drainMs: 1000 }).then(() => process.exit(0)))
