// The measured service, in a separate process: real sockets, real voice activity, an engine that does nothing.
import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { Session } from 'node:inspector/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { hashSecret, memoryClients, newClientSecret, startService } from '../dist/esm/service.js'
import { scriptedEngine } from '../dist/esm/testing.js'
import { shares } from './profile-shares.mjs'

const models = await mkdtemp(join(tmpdir(), 'rxspeech-bench-'))
await mkdir(join(models, 'Default/null/1'), { recursive: true })
await writeFile(join(models, 'Default/null/1/model.json'), JSON.stringify({ engine: 'null', batch: true }))

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
  modelFolders: [models],
  engines: [{ name: 'null', open: () => Promise.resolve(scriptedEngine({ texts: ['x'] })) }],
  defaultModel: 'null',
  development: true,
  limits: {
    sessions: 10_000,
    sessionsPerToken: 10_000,
    sessionsPerTenant: 10_000,
    connections: 20_000,
    connectionsPerAddress: 20_000,
    idleMs: 0,
  },
})

const delay = monitorEventLoopDelay({ resolution: 1 })
const inspector = new Session()
inspector.connect()
let from = { cpu: process.cpuUsage(), atMs: performance.now() }

const handlers = {
  access: () => ({ wsUrl: service.wsUrl, grpc: service.grpcAddress, authUrl: service.authUrl, clientSecret }),
  /** Starts a measurement window. */
  begin: async (profiled) => {
    if (profiled) {
      await inspector.post('Profiler.enable')
      await inspector.post('Profiler.setSamplingInterval', { interval: 500 })
      await inspector.post('Profiler.start')
    }
    delay.enable()
    delay.reset()
    from = { cpu: process.cpuUsage(), atMs: performance.now() }
  },
  /** Ends the window: share of a core that the process used, p50 and p99 of the event loop delay. */
  end: async (profiled) => {
    const { user, system } = process.cpuUsage(from.cpu)
    const wallMs = performance.now() - from.atMs
    delay.disable()
    const metrics = {
      cores: (user + system) / 1000 / wallMs,
      // The timer of the histogram itself waits for a millisecond.
      delayP50Ms: Math.max(0, delay.percentile(50) / 1e6 - 1),
      delayP99Ms: Math.max(0, delay.percentile(99) / 1e6 - 1),
    }
    if (!profiled) return metrics
    const { profile } = await inspector.post('Profiler.stop')
    return { ...metrics, shares: shares(profile) }
  },
  memory: () => {
    globalThis.gc()
    globalThis.gc()
    const { heapUsed, external, arrayBuffers, rss } = process.memoryUsage()
    const pages = Number(readFileSync('/proc/self/statm', 'utf8').split(' ')[1])
    return { heap: heapUsed, outside: external + arrayBuffers, rss: Number.isFinite(pages) ? pages * 4096 : rss }
  },
}

process.on('message', async ({ id, request, argument }) => {
  process.send({ id, answer: (await handlers[request](argument)) ?? null })
})
process.once('disconnect', async () => {
  await service.close({ drainMs: 0 })
  await rm(models, { recursive: true, force: true })
  process.exit(0)
})
process.send({ id: 0, answer: 'ready' })
