import { WorkerPool, type StartPoolWorker } from '../../../../src/service/engines/pool/worker-pool.js'
import type { ThreadEvents } from '../../../../src/service/threads/worker-thread.js'
import type { SegmentListener } from '../../../../src/service/engines/engine.js'
import type { FromWorker, ToWorker } from '../../../../src/service/engines/pool/worker-messages.js'
import { VirtualClock } from '../../virtual-clock.js'
import { SpeechError } from '../../../../src/errors/speech-error.js'

/** A worker that only notes what it is told; the test speaks for it through `events`. */
export interface FakeWorker {
  readonly events: ThreadEvents<FromWorker>
  /** Audio is noted with its length: the samples' memory is used again. */
  readonly told: string[]
  /** The audio as it was when it was posted. */
  readonly audio: number[]
  busy: boolean | undefined
  terminated: boolean
}

const note = (message: ToWorker): string =>
  `${message.type} ${message.segment}${message.type === 'audio' ? ` ${message.samples.length}` : ''}`

export const fakeWorkers = (): { readonly workers: FakeWorker[]; readonly start: StartPoolWorker } => {
  const workers: FakeWorker[] = []
  const start: StartPoolWorker = (events) => {
    const worker: FakeWorker = { events, told: [], audio: [], busy: undefined, terminated: false }
    workers.push(worker)
    return {
      post: (message) => {
        worker.told.push(note(message))
        if (message.type === 'audio') worker.audio.push(...message.samples)
      },
      setBusy: (busy) => (worker.busy = busy),
      terminate: async () => {
        worker.terminated = true
        await Promise.resolve()
        events.ended(undefined)
      },
    }
  }
  return { workers, start }
}

export interface FakePool {
  readonly pool: WorkerPool
  readonly workers: FakeWorker[]
  readonly worker: (index: number) => FakeWorker
  /** Opens a segment whose events are noted under its name. */
  readonly open: (name: string) => ReturnType<WorkerPool['open']>
  readonly heard: string[]
  readonly clock: { ms: number }
  /** The time of the watch over the workers. */
  readonly scheduler: VirtualClock
}

export const fakePool = (workerCount: number, decodersPerWorker: number): FakePool => {
  const { workers, start } = fakeWorkers()
  const heard: string[] = []
  const clock = { ms: 0 }
  const scheduler = new VirtualClock()
  const pool = new WorkerPool({
    start,
    workers: workerCount,
    decodersPerWorker,
    frameSamples: 800,
    now: () => clock.ms,
    scheduler,
    refusalError: (sentence) => new SpeechError('invalid-model', sentence),
  })
  const listener = (name: string): SegmentListener => ({
    progress: (count, partial) => heard.push(`${name} taken ${count} ${partial ?? ''}`.trim()),
    decided: (words) => heard.push(`${name} decided ${words.length}`),
    failed: ({ code }) => heard.push(`${name} failed ${code}`),
  })
  const worker = (index: number): FakeWorker => {
    const found = workers[index]
    if (found === undefined) throw new Error(`Worker ${index} was not started`)
    return found
  }
  return { pool, workers, worker, heard, clock, scheduler, open: (name) => pool.open(0, listener(name)) }
}
