// The service that `npm run bench free-text` measures, in a process of its own: any English speech by the default
// engine. The arguments are what the model gets beside the files, as JSON: { "partials": "off" }, and limits of the
// service. MODEL names a folder with a model.json in place of the package.
import { createRequire } from 'node:module'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { startDevelopmentService } from '../../packages/service/dist/index.js'

const packaged = () =>
  join(
    dirname(createRequire(import.meta.url).resolve('rxspeech-whisper-tiny-en/package.json')),
    'models/Default/English/1',
  )

const source = process.env['MODEL'] ?? packaged()
const folder = await mkdtemp(join(tmpdir(), 'rxspeech-free-text-'))
const model = join(folder, 'models/Default/English/1')
await mkdir(dirname(model), { recursive: true })
await cp(source, model, { recursive: true })
const settings = JSON.parse(await readFile(join(source, 'model.json'), 'utf8'))
await writeFile(join(model, 'model.json'), JSON.stringify({ ...settings, ...JSON.parse(process.argv[2] ?? '{}') }))

const many = 1000
const service = await startDevelopmentService({
  stateFolder: join(folder, 'state'),
  modelFolders: [join(folder, 'models')],
  defaultModel: 'English',
  limits: {
    sessions: many,
    sessionsPerToken: many,
    sessionsPerTenant: many,
    connections: many,
    connectionsPerAddress: many,
    requestBurst: many,
    ...JSON.parse(process.argv[3] ?? '{}'),
  },
})
process.send?.({ access: service.access })
process.once('disconnect', () => {
  void service
    .close({ drainMs: 0 })
    .then(() => rm(folder, { recursive: true, force: true }))
    .finally(() => process.exit())
})
