import { asyncScheduler, type SchedulerLike } from 'rxjs'
import { SpeechError } from '../../../errors/speech-error.js'
import { WorkerWatch, type Watched } from './worker-watchdog.js'
import type { DecoderWorker, StartDecoderWorker } from './decoder-worker.js'
import type { SegmentListener } from '../channel-segments.js'
import { PooledSegment } from './pooled-segment.js'
import type { FromWorker } from './worker-messages.js'

export interface DecoderPoolOptions {
  readonly start: StartDecoderWorker
  readonly workers: number
  readonly decodersPerWorker: number
  /** How much audio one message to a worker carries, and a decoder reads at a time. */
  readonly hopSamples: number
  /** Milliseconds that never run backwards. */
  readonly now: () => number
  /** How long a worker may say nothing while it has work, in milliseconds; 10,000 when absent. It is ended then. */
  readonly answerWithinMs?: number
  /** How long it may load, in milliseconds; 60,000 when absent. */
  readonly startWithinMs?: number
  readonly scheduler?: SchedulerLike
  /** Turns the worker's reason to refuse the model into the error that `warm` rejects with. */
  readonly refuse: (sentence: string) => SpeechError
}

type Phase =
  { readonly type: 'loading' } | { readonly type: 'ready' } | { readonly type: 'refused'; readonly sentence: string }

interface Member extends Watched {
  readonly worker: DecoderWorker
  readonly segments: Map<number, PooledSegment>
  phase: Phase
}

const dueOf = ({ phase, segments }: Member): ReturnType<Watched['due']> => {
  if (phase.type === 'loading') return 'start'
  return [...segments.values()].some(({ isOwed }) => isOwed) ? 'now' : 'nothing'
}

/** So many workers may break within a minute before the pool stops starting others. */
const maxBreaks = 5
const breakWindowMs = 60_000

const workerBroke = (cause?: unknown): SpeechError =>
  new SpeechError('engine-failed', 'The recognition engine stopped while it read; try again.', { cause })

/** The worker is gone with everything that it read: a segment that shared it is not to blame. */
const workerLost = (cause: unknown): SpeechError =>
  workerBroke(new SpeechError('connection-lost', 'The worker ended.', { cause }))

/**
 * The workers of one model. A segment takes the least busy worker's decoder; when every decoder is lent, segments wait
 * in line, first come first served. Workers are started as they are needed and stay.
 */
export class DecoderPool {
  private readonly members = new Set<Member>()
  /** In the order they came; a set, so that an aborted one leaves without a search. */
  private readonly line = new Set<PooledSegment>()
  private readonly breaksAtMs: number[] = []
  private readonly warming: { resolve: () => void; reject: (error: SpeechError) => void }[] = []
  private nextSegment = 1
  private readonly watch: WorkerWatch
  private lastBreak: unknown
  private workedMs = 0
  private closed = false

  constructor(private readonly options: DecoderPoolOptions) {
    const { answerWithinMs = 10_000, startWithinMs = 60_000, scheduler = asyncScheduler } = options
    this.watch = new WorkerWatch({ answerWithinMs, startWithinMs, scheduler })
  }

  get segmentsAtOnce(): number {
    return this.options.workers * this.options.decodersPerWorker
  }

  /** How long its workers say that they have worked, all together. */
  get busyMs(): number {
    return this.workedMs
  }

  /** Resolves when a worker is ready; rejects with the refusal of the model, or `engine-failed`. */
  warm(): Promise<void> {
    if (this.closed) return Promise.reject(workerBroke())
    if (this.readyMembers().length > 0) return Promise.resolve()
    return new Promise((resolve, reject) => {
      this.warming.push({ resolve, reject })
      this.serve()
    })
  }

  /** Opens a segment; its listener is called later, never before this returns. */
  open(startMs: number, listener: SegmentListener): PooledSegment {
    const segment = new PooledSegment(this.nextSegment, startMs, listener, {
      leave: (one) => this.release(one),
      asked: () => this.watch.wake(),
      hopSamples: this.options.hopSamples,
    })
    this.nextSegment += 1
    if (this.closed) queueMicrotask(() => segment.failed(workerBroke()))
    else this.line.add(segment)
    this.serve()
    return segment
  }

  async close(): Promise<void> {
    this.closed = true
    const members = [...this.members]
    this.watch.stop()
    this.failAll(workerBroke())
    await Promise.all(members.map(({ worker }) => worker.terminate()))
  }

  private readyMembers(): readonly Member[] {
    return [...this.members].filter(({ phase }) => phase.type === 'ready')
  }

  /** Gives decoders to the segments in line, and starts another worker where all have something to do. */
  private serve(): void {
    for (const segment of this.line) {
      const member = this.leastBusy()
      if (member === undefined) break
      this.line.delete(segment)
      if (member.segments.size === 0) member.worker.setBusy(true)
      member.segments.set(segment.id, segment)
      segment.start(member.worker.post)
    }
    if (this.wantsWorker()) this.startWorker()
  }

  private leastBusy(): Member | undefined {
    const open = this.readyMembers().filter(({ segments }) => segments.size < this.options.decodersPerWorker)
    return open.toSorted((one, other) => one.segments.size - other.segments.size)[0]
  }

  private wantsWorker(): boolean {
    const members = [...this.members]
    if (this.closed || members.length >= this.options.workers) return false
    if (members.some(({ phase }) => phase.type !== 'ready')) return false
    const wanted = this.line.size > 0 || this.warming.length > 0 || members.length > 0
    return wanted && members.every(({ segments }) => segments.size > 0)
  }

  private startWorker(): void {
    const earliestMs = this.options.now() - breakWindowMs
    if (this.breaksAtMs.filter((atMs) => atMs > earliestMs).length >= maxBreaks) {
      if (this.members.size === 0) queueMicrotask(() => this.failAll(workerBroke(this.lastBreak)))
      return
    }
    const member: Member = {
      worker: this.options.start({
        message: (message) => this.receive(member, message),
        ended: (cause) => this.ended(member, cause),
      }),
      segments: new Map(),
      phase: { type: 'loading' },
      due: () => dueOf(member),
      hung: () => this.hung(member),
    }
    this.members.add(member)
    this.watch.add(member)
  }

  private receive(member: Member, message: FromWorker): void {
    if (!this.members.has(member)) return
    this.workedMs += message.busyMs ?? 0
    this.watch.heard(member)
    if (message.type === 'ready') {
      member.phase = { type: 'ready' }
      this.idle(member)
      for (const { resolve } of this.warming.splice(0)) resolve()
      this.serve()
    } else if (message.type === 'refused') {
      member.phase = { type: 'refused', sentence: message.sentence }
      void member.worker.terminate()
    } else if (message.type !== 'working') {
      this.answer(member, message)
    }
  }

  private answer(
    member: Member,
    message: Exclude<FromWorker, { readonly type: 'ready' | 'refused' | 'working' }>,
  ): void {
    const segment = member.segments.get(message.segment)
    if (segment === undefined) return
    if (message.type === 'taken') {
      segment.taken(message.sampleCount, message.partial)
      return
    }
    this.release(segment)
    if (message.type === 'decided') segment.decided(message.words, message.whole)
    else segment.failed(workerBroke())
  }

  /** The segment holds a decoder no more, or waits for none. */
  private release(segment: PooledSegment): void {
    this.line.delete(segment)
    const member = [...this.members].find(({ segments }) => segments.delete(segment.id))
    if (member?.segments.size === 0) this.idle(member)
    this.serve()
  }

  /** Neither the worker nor a timer keeps the process alive then. */
  private idle({ worker }: Member): void {
    worker.setBusy(false)
    this.watch.rest()
  }

  /** It counts as ended at once: what blocks may take long to end, and its segments shall not wait for it. */
  private hung(member: Member): void {
    this.ended(member, new Error('The worker did not answer in time.'))
    void member.worker.terminate()
  }

  private ended(member: Member, cause: unknown): void {
    this.watch.remove(member)
    if (!this.members.delete(member) || this.closed) return
    this.lastBreak = cause
    this.breaksAtMs.push(this.options.now())
    this.breaksAtMs.splice(0, this.breaksAtMs.length - maxBreaks)
    if (member.phase.type === 'refused') this.failAll(this.options.refuse(member.phase.sentence))
    // One that was alone on it may be what ended it.
    const fault = member.segments.size > 1 ? workerLost(cause) : workerBroke(cause)
    for (const segment of member.segments.values()) segment.failed(fault)
    this.serve()
  }

  private failAll(error: SpeechError): void {
    const segments = [...this.line, ...[...this.members].flatMap((member) => [...member.segments.values()])]
    this.line.clear()
    for (const { segments: held } of this.members) held.clear()
    for (const segment of segments) segment.failed(error)
    for (const { reject } of this.warming.splice(0)) reject(error)
  }
}
