import type { Socket } from 'node:net'
import { beforeEach, describe, expect, it } from 'vitest'
import { VirtualTimeScheduler } from 'rxjs'
import { SpeechError } from '../../../../src/errors/speech-error.js'
import type { LogFields } from '../../../server/src/operations/logger.js'
import type { PassedConnection, WorkerEvents, WorkerHost, WorkerReload } from '../../src/workers/worker-host.js'
import { WorkerSet, type WorkerSetListener } from '../../src/workers/worker-set.js'

/** A worker without a process. */
interface FakeWorker {
  readonly number: number
  readonly startedAtMs: number
  readonly events: WorkerEvents
  readonly passed: PassedConnection[]
  load: number
  isServing: boolean
  drainMs: number | undefined
  prepareReload: () => Promise<WorkerReload>
  /** Whether each of its reloads was used. */
  reloads: readonly boolean[]
}

let scheduler: VirtualTimeScheduler
let workers: FakeWorker[]
let restarts: number
let lines: (LogFields & { readonly message: string })[]
beforeEach(() => {
  scheduler = new VirtualTimeScheduler()
  workers = []
  restarts = 0
  lines = []
})

const startWorker = (number: number, events: WorkerEvents): WorkerHost => {
  const worker: FakeWorker = {
    ...{ number, events, startedAtMs: scheduler.now(), passed: [], load: 0, isServing: false, drainMs: undefined },
    ...{ prepareReload: () => Promise.resolve({ problems: [], fingerprint: '' }), reloads: [] },
  }
  workers.push(worker)
  return {
    pid: workers.length,
    load: () => worker.load,
    pass: (connection) => worker.passed.push(connection),
    setServing: (isServing) => (worker.isServing = isServing),
    metrics: () => Promise.resolve([]),
    slowSessions: () => Promise.resolve([]),
    prepareReload: () => worker.prepareReload(),
    reload: (isUsed) => (worker.reloads = [...worker.reloads, isUsed]),
    renewCertificate: () => undefined,
    drain: (drainMs) => (worker.drainMs = drainMs),
    kill: () => events.ended({ how: 'SIGKILL' }),
  }
}

const listener: WorkerSetListener = {
  changed: () => undefined,
  ended: () => undefined,
  restarted: () => (restarts += 1),
}

const createSet = (count: number): WorkerSet =>
  new WorkerSet({
    ...{ count, scheduler },
    logger: { log: (_level, message, fields) => lines.push({ message, ...fields }) },
  })

const started = async (count: number): Promise<WorkerSet> => {
  const set = createSet(count)
  const starting = set.start(startWorker, listener)
  for (const { events } of workers) events.opened()
  await starting
  return set
}

const worker = (index: number): FakeWorker => {
  const found = workers[index]
  if (found === undefined) throw new Error(`There is no worker ${index}.`)
  return found
}

const connection = () => {
  const state = { isDestroyed: false, isReleased: false }
  const passed: PassedConnection = {
    listener: 'http',
    socket: { destroy: () => (state.isDestroyed = true) } as unknown as Socket,
    slot: { refusal: undefined, release: () => (state.isReleased = true) },
  }
  return { passed, state }
}

describe('WorkerSet', () => {
  it('starts when all workers serve sessions', async () => {
    const set = createSet(2)
    let hasStarted = false
    const starting = set.start(startWorker, listener).then(() => (hasStarted = true))
    worker(0).events.opened()
    await Promise.resolve()
    expect([hasStarted, set.open.length]).toEqual([false, 1])
    worker(1).events.opened()
    await starting
    expect(set.open.map(({ number }) => number)).toEqual([1, 2])
  })

  it('does not start when a worker cannot, and ends the others', async () => {
    const set = createSet(3)
    const starting = set.start(startWorker, listener)
    worker(0).events.opened()
    worker(1).events.ended({ how: 'code 0', refusal: new SpeechError('invalid-options', 'The folder is missing.') })
    await expect(starting).rejects.toMatchObject({ code: 'invalid-options', message: 'The folder is missing.' })
    expect([set.open.length, workers.length, restarts]).toEqual([0, 3, 0])
  })

  it('gives a connection to the worker with the smallest load, and those with the same load take turns', async () => {
    const set = await started(3)
    worker(1).load = 5
    for (let count = 0; count < 4; count += 1) set.pass(connection().passed)
    expect(workers.map(({ passed }) => passed.length)).toEqual([2, 0, 2])
  })

  it('starts a worker again after delays that grow while it ends soon, up to 30 s', async () => {
    await started(1)
    worker(0).events.ended({ how: 'SIGSEGV' })
    for (let count = 1; count <= 11; count += 1) {
      scheduler.flush()
      worker(count).events.ended({ how: 'code 1' })
    }
    const delays = workers.slice(1).map(({ startedAtMs }, at) => startedAtMs - worker(at).startedAtMs)
    expect(delays).toEqual([100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000])
    expect(restarts).toBe(11)
    expect(lines.find(({ message }) => message === 'Worker ended')).toMatchObject({
      worker: 1,
      pid: 1,
      how: 'SIGSEGV',
      afterMs: 100,
    })
  })

  it('starts a worker again soon when it ran for 10 s', async () => {
    await started(1)
    for (const ranMs of [0, 0, 10_000]) {
      scheduler.schedule(() => workers.at(-1)?.events.ended({ how: 'code 1' }), ranMs)
      scheduler.flush()
    }
    expect(lines.filter(({ message }) => message === 'Worker ended').map(({ afterMs }) => afterMs)).toEqual([
      100, 200, 100,
    ])
  })

  it('keeps connections while no worker is open, and passes them to the next that opens', async () => {
    const set = await started(1)
    worker(0).events.ended({ how: 'SIGKILL' })
    const { passed, state } = connection()
    set.pass(passed)
    scheduler.flush()
    expect(worker(1).passed).toEqual([])
    worker(1).events.opened()
    expect(worker(1).passed).toEqual([passed])
    expect(state).toEqual({ isDestroyed: false, isReleased: false })
  })

  it('is ready while one worker is, and without engine when all are', async () => {
    const set = await started(2)
    const types: string[] = [set.readiness.type]
    const report = (index: number, type: 'ready' | 'without-engine'): void => {
      worker(index).events.readinessChanged({ type })
      types.push(set.readiness.type)
    }
    report(0, 'ready')
    report(1, 'without-engine')
    report(0, 'without-engine')
    report(1, 'ready')
    worker(1).events.ended({ how: 'SIGKILL' })
    types.push(set.readiness.type)
    expect(types).toEqual(['starting', 'ready', 'ready', 'without-engine', 'ready', 'starting'])
  })

  it('drains workers, and kills those that take too long; none is started again, and no connection waits', async () => {
    const set = await started(2)
    worker(1).events.ended({ how: 'SIGKILL' })
    const { passed, state } = connection()
    const drained = set.drain(5_000, 6_000)
    expect([set.readiness.type, worker(0).drainMs]).toEqual(['draining', 5_000])
    scheduler.flush()
    await drained
    set.pass(passed)
    expect(state).toEqual({ isDestroyed: true, isReleased: true })
    expect([scheduler.now(), workers.length, restarts]).toEqual([6_000, 2, 0])
  })

  it('has a reload used by all workers, or by none', async () => {
    const set = await started(2)
    let found = 0
    await set.reload((reloads) => {
      found = reloads.length
      return true
    })
    await set.reload(() => false)
    worker(1).prepareReload = () => Promise.reject(new SpeechError('going-away', 'The worker has ended.'))
    await expect(set.reload(() => true)).rejects.toMatchObject({ code: 'going-away' })
    expect([found, worker(0).reloads, worker(1).reloads]).toEqual([2, [true, false, false], [true, false, false]])
  })

  it('refuses a reload while a worker is started again', async () => {
    const set = await started(2)
    worker(0).events.ended({ how: 'SIGKILL' })
    await expect(set.reload(() => true)).rejects.toMatchObject({ code: 'overloaded' })
    expect(worker(1).reloads).toEqual([])
  })
})
