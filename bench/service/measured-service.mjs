// The measured service, in a separate process: real sockets, real voice activity, an engine that does nothing. The
// first argument names another built checkout, the second has further limits as JSON, the third says for how many µs
// the thread is kept busy for each 20 ms of audio, and with the URL of NATS as the fourth its engines are those
// processes.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { measurements } from './measurements.mjs'

const [givenBuild = '', limits = '{}', busyMicros = '0', nats] = process.argv.slice(2)
const build = givenBuild === '' ? new URL('../..', import.meta.url).pathname : givenBuild
const load = (file) => import(pathToFileURL(join(build, file)).href)
const { hashSecret, memoryClients, newClientSecret, startService } = await load('packages/service/dist/index.js')
const { scriptedEngine } = await load('packages/service/dist/testing.js')
const { noopMonitor } = await load('packages/server/dist/monitor/service-monitor.js')

const models = await mkdtemp(join(tmpdir(), 'rxspeech-bench-'))
await mkdir(join(models, 'Default/null/1'), { recursive: true })
await writeFile(join(models, 'Default/null/1/model.json'), JSON.stringify({ engine: 'null', batch: true }))

const busyMs = Number(busyMicros) / 1000
const keepBusy = (forMs) => {
  const untilMs = performance.now() + forMs
  while (performance.now() < untilMs);
}

const clientSecret = newClientSecret()
const everything = ['*']
const service = await startService({
  clients: memoryClients([
    {
      clientId: 'bench',
      secretHash: await hashSecret(clientSecret),
      tenants: everything,
      projects: everything,
      models: everything,
      validFromMs: 0,
      validUntilMs: Number.MAX_SAFE_INTEGER,
      cancelled: false,
    },
  ]),
  ...(nats === undefined
    ? {
        modelFolders: [models],
        engines: [{ name: 'null', open: () => Promise.resolve(scriptedEngine({ texts: ['x'] })) }],
        defaultModel: 'null',
      }
    : { modelFolders: [], natsEngines: { servers: [nats] } }),
  development: true,
  // The service reports the audio of a session once a second.
  ...(busyMs > 0 && {
    monitor: { ...noopMonitor, audio: (_session, { audioMs }) => keepBusy((busyMs * audioMs) / 20) },
  }),
  limits: {
    sessions: 10_000,
    sessionsPerToken: 10_000,
    sessionsPerTenant: 10_000,
    connections: 20_000,
    connectionsPerAddress: 20_000,
    idleMs: 0,
    requestBurst: 1_000_000,
    ...JSON.parse(limits),
  },
})

measurements({
  access: () => ({
    ...{ wsUrl: service.wsUrl, grpc: service.grpcAddress, authUrl: service.authUrl, clientSecret },
    model: service.defaultModel,
  }),
  close: async () => {
    await service.close({ drainMs: 0 })
    await rm(models, { recursive: true, force: true })
  },
})
