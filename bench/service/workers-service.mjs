// A service of one process or of several workers, in a process of its own; the argument is the number of workers.
import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hashSecret, memoryClients, newClientSecret, startService } from '../../packages/service/dist/index.js'

// The engine is real and gets no audio, because the sessions of this benchmark are silent. One that does nothing would
// be a function, which workers cannot get.
const folder = await mkdtemp(join(tmpdir(), 'rxspeech-bench-'))
const model = join(folder, 'models/Default/null/1')
await mkdir(model, { recursive: true })
await writeFile(join(model, 'phrases.txt'), 'good evening\n')
await writeFile(join(model, 'model.json'), JSON.stringify({ engine: 'soundswallower', phrases: 'phrases.txt' }))

const pids = new Map()
const clientSecret = newClientSecret()
const everything = ['*']
const service = await startService({
  development: true,
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
  modelFolders: [join(folder, 'models')],
  defaultModel: 'null',
  workers: Number(process.argv[2]),
  limits: { idleMs: 0, maxLoopDelayMs: 0, requestBurst: 1_000_000 },
  logger: {
    log: (_level, message, fields) => {
      if (message === 'Worker started') pids.set(fields.worker, fields.pid)
    },
  },
})

/** CPU time of all threads of a process, in ms. */
const cpuMs = (pid) => {
  const tasks = readdirSync(`/proc/${pid}/task`)
  const nanoseconds = tasks.map((task) =>
    Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]),
  )
  return nanoseconds.reduce((sum, one) => sum + one, 0) / 1e6
}

const handlers = {
  access: () => ({ wsUrl: service.wsUrl, grpc: service.grpcAddress, authUrl: service.authUrl, clientSecret }),
  /** CPU time so far: of this process, and of each worker. */
  cpu: () => ({ ownMs: cpuMs(process.pid), workersMs: [...pids.values()].map(cpuMs) }),
}
process.on('message', async ({ id, request }) => {
  process.send({ id, answer: await handlers[request]() })
})
process.once('disconnect', async () => {
  await service.close({ drainMs: 0 })
  await rm(folder, { recursive: true, force: true })
  process.exit(0)
})
process.send({ id: 0, answer: 'ready' })
