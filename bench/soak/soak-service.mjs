// The service of `npm run soak`, in a separate process: models that recognize nothing, and no limit that the load could
// reach.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hashSecret, memoryClients, newClientSecret, startService } from '../../packages/service/dist/index.js'
import { NEVER } from 'rxjs'
import { scriptedEngine } from '../../packages/service/dist/testing.js'

const folder = await mkdtemp(join(tmpdir(), 'rxspeech-soak-'))
await mkdir(join(folder, 'Default/m/1'), { recursive: true })
await writeFile(join(folder, 'Default/m/1/model.json'), '{"engine":"scripted","batch":true}')

/** `stuck`: an engine that accepts audio forever and never reports consumption. */
const stuck = process.argv[2] === 'stuck'
/** `limited`: with the limit of requests that services have. */
const requestBurst = process.argv[2] === 'limited' ? 100 : 1_000_000
const scripted = scriptedEngine({ texts: ['hello world'] })
const engine = stuck ? { ...scripted, recognize: () => () => NEVER } : scripted

const many = 100_000
const secret = newClientSecret()
const service = await startService({
  clients: memoryClients([
    {
      clientId: 'soak',
      secretHash: await hashSecret(secret),
      tenants: ['*'],
      projects: ['*'],
      models: ['*'],
      validFromMs: 0,
      validUntilMs: Infinity,
      cancelled: false,
    },
  ]),
  modelFolders: [folder],
  engines: [{ name: 'scripted', open: () => Promise.resolve(engine) }],
  defaultModel: 'm',
  limits: {
    sessions: many,
    sessionsPerToken: many,
    sessionsPerTenant: many,
    connections: many,
    connectionsPerAddress: many,
    unstarted: many,
    unstartedPerAddress: many,
    streamsPerConnection: many,
    requestBurst,
    // Setups as fast as possible are no overload here.
    maxLoadPercent: 0,
    maxLoopDelayMs: 0,
    maxEngineDelayMs: 0,
  },
})
const form = {
  client_id: 'soak',
  client_secret: secret,
  grant_type: 'client_credentials',
  scope: 'Ldm_Integration',
}
const answer = await fetch(`${service.authUrl}/connect/token`, { method: 'POST', body: new URLSearchParams(form) })
const { access_token: token } = await answer.json()

const pollDelay = () => new Promise((resolve) => setTimeout(resolve, 20))

/** Memory in use after garbage collection. */
const held = async () => {
  let minBytes = Infinity
  // V8 frees the memory of buffers on background threads, some time after the collection.
  for (let [round, since] = [0, 0]; round < 60 && since < 5; round += 1, since += 1) {
    await pollDelay()
    globalThis.gc()
    const { heapUsed, external } = process.memoryUsage()
    if (heapUsed + external < minBytes - 50_000) [minBytes, since] = [heapUsed + external, 0]
  }
  const { heapUsed, external, rss } = process.memoryUsage()
  return { fds: readdirSync('/proc/self/fd').length, heapBytes: heapUsed + external, rssBytes: rss }
}

process.on('message', async (what) => {
  if (what === 'held') process.send(await held())
  else {
    await service.close({ drainMs: 1_000 })
    await rm(folder, { recursive: true })
    process.disconnect()
  }
})
// The parent process may end at any time.
process.on('disconnect', () => process.exit())
process.send({ wsUrl: service.wsUrl, grpc: service.grpcAddress, token })
