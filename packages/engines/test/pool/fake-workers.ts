import { WorkerPool, type StartPoolWorker } from '../../src/pool/worker-pool.js'
import type { ThreadEvents } from '../../src/threads/worker-thread.js'
import type { SegmentListener } from '../../src/engine.js'
import type { FromWorker, ToWorker } from '../../src/pool/worker-messages.js'
import { VirtualClock } from '../../../service/test/virtual-clock.js'
import { SpeechError } from '../../../../src/errors/speech-error.js'

/** A worker that records what is posted to it; the test sends its messages through `events`. */
export interface FakeWorker {
  readonly events: ThreadEvents<FromWorker>
  /** Audio is recorded with its length, because the memory of the samples is reused. */
  readonly posted: string[]
  /** The audio as it was when it was posted. */
  readonly audio: number[]
  busy: boolean | undefined
  terminated: boolean
}

const describeMessage = (message: ToWorker): string => {
  if (message.type === 'check-phrases') return `${message.type} ${message.check} ${message.phrases.join(', ')}`
  return `${message.type} ${message.segment}${message.type === 'audio' ? ` ${message.samples.length}` : ''}`
}

const fakeWorkers = (): { readonly workers: FakeWorker[]; readonly start: StartPoolWorker } => {
  const workers: FakeWorker[] = []
  const start: StartPoolWorker = (events) => {
    const worker: FakeWorker = { events, posted: [], audio: [], busy: undefined, terminated: false }
    workers.push(worker)
    return {
      post: (message) => {
        worker.posted.push(describeMessage(message))
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
  /** Opens a segment whose events are recorded with its name. */
  readonly open: (name: string) => ReturnType<WorkerPool['open']>
  readonly segmentEvents: string[]
  readonly clock: { ms: number }
  /** The time of the watchdog. */
  readonly scheduler: VirtualClock
}

export const fakePool = (workerCount: number, decodersPerWorker: number): FakePool => {
  const { workers, start } = fakeWorkers()
  const segmentEvents: string[] = []
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
    progress: (count, partial) => segmentEvents.push(`${name} progress ${count} ${partial ?? ''}`.trim()),
    decidedPart: (count) => segmentEvents.push(`${name} decided part ${count}`),
    checked: (isComplete) => segmentEvents.push(`${name} checked ${isComplete}`),
    decided: (words) => segmentEvents.push(`${name} decided ${words.length}`),
    failed: ({ code }) => segmentEvents.push(`${name} failed ${code}`),
  })
  const worker = (index: number): FakeWorker => {
    const found = workers[index]
    if (found === undefined) throw new Error(`Worker ${index} was not started`)
    return found
  }
  return { pool, workers, worker, segmentEvents, clock, scheduler, open: (name) => pool.open(0, listener(name)) }
}
