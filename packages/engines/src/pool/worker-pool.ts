import { asyncScheduler, type SchedulerLike } from 'rxjs'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { ThreadEvents } from '../threads/worker-thread.js'
import type { PhraseFault, RecognizeSettings, SegmentListener } from '../engine.js'
import { PooledSegment } from './pooled-segment.js'
import type { FromWorker, ToWorker } from './worker-messages.js'
import { WorkerWatchdog, type WatchedWorker } from './worker-watchdog.js'

/** A worker as the pool sees it. */
export interface PoolWorker {
  readonly post: (message: ToWorker) => void
  /** A busy worker keeps the process alive; an idle one does not. */
  readonly setBusy: (isBusy: boolean) => void
  readonly terminate: () => Promise<void>
  /** Undefined for a thread, and where it is not known. */
  readonly memoryBytes?: () => number | undefined
}

export type StartPoolWorker = (events: ThreadEvents<FromWorker>) => PoolWorker

export interface WorkerPoolOptions {
  readonly start: StartPoolWorker
  /** The maximum number of workers. */
  readonly workers: number
  /** How many segments each decodes at the same time. */
  readonly decodersPerWorker: number
  /** How much audio a message to a worker carries. */
  readonly frameSamples: number
  /** A clock in milliseconds that never goes back. */
  readonly now: () => number
  /** How long a worker may be silent while it has work, in milliseconds, before it is terminated. @default 10000 */
  readonly answerWithinMs?: number | undefined
  /** How long a worker may load, in milliseconds, before it is terminated. @default 60000 */
  readonly startWithinMs?: number | undefined
  /** @default asyncScheduler */
  readonly scheduler?: SchedulerLike | undefined
  /** Makes an error of the reason for which a worker refuses the model, and of why the worker ended. */
  readonly refusalError: (sentence: string, cause: unknown) => SpeechError
}

type Phase =
  | { readonly type: 'loading' }
  | { readonly type: 'ready' }
  /** It works on until another is ready in its place. */
  | { readonly type: 'worn' }
  | { readonly type: 'refused'; readonly sentence: string }

/** Phrases that a worker checks. */
interface PhraseCheck {
  readonly resolve: (faults: readonly PhraseFault[]) => void
  readonly reject: (error: SpeechError) => void
}

interface Member extends WatchedWorker {
  readonly worker: PoolWorker
  readonly segments: Map<number, PooledSegment>
  readonly checks: Map<number, PhraseCheck>
  phase: Phase
}

const awaitedFrom = ({ phase, segments, checks }: Member): ReturnType<WatchedWorker['awaited']> => {
  if (phase.type === 'loading') return 'start'
  return checks.size > 0 || [...segments.values()].some(({ isAwaited }) => isAwaited) ? 'answer' : 'nothing'
}

/** After this many workers have ended within a minute the pool starts no other until the minute is over. */
const maxEnds = 5
const endWindowMs = 60_000

/** A decoder failed, or what it runs in. */
const engineFailed = (cause?: unknown): SpeechError =>
  new SpeechError('engine-failed', 'The recognition engine stopped while it decoded; try again.', { cause })

/**
 * The worker ended with several segments, any of which may have caused it: each counts as a loss, not as its own
 * failure.
 */
const workerLost = (cause: unknown): SpeechError =>
  engineFailed(new SpeechError('connection-lost', 'The worker ended.', { cause }))

/**
 * The workers of one model. A segment gets a decoder of the least busy worker; if all decoders are in use it waits in a
 * queue. Workers are started when they are needed, and stay.
 */
export class WorkerPool {
  readonly #options: WorkerPoolOptions
  readonly #members = new Set<Member>()
  /** In the order they came. A set, so that an aborted one is removed without a search. */
  readonly #queue = new Set<PooledSegment>()
  readonly #endsAtMs: number[] = []
  readonly #warming: { resolve: () => void; reject: (error: SpeechError) => void }[] = []
  readonly #watchdog: WorkerWatchdog
  #nextSegment = 1
  #nextCheck = 1
  #lastCause: unknown
  #busyMs = 0
  #isClosed = false

  constructor(options: WorkerPoolOptions) {
    this.#options = options
    const { answerWithinMs = 10_000, startWithinMs = 60_000, scheduler = asyncScheduler } = options
    this.#watchdog = new WorkerWatchdog({ answerWithinMs, startWithinMs, scheduler })
  }

  get segmentsAtOnce(): number {
    return this.#options.workers * this.#options.decodersPerWorker
  }

  /** How long all workers together have worked, in milliseconds. */
  get busyMs(): number {
    return this.#busyMs
  }

  /** The memory of its processes, in bytes; undefined if it has none, or it is not known. */
  get memoryBytes(): number | undefined {
    let total: number | undefined
    for (const { worker } of this.#members) {
      const bytes = worker.memoryBytes?.()
      if (bytes !== undefined) total = (total ?? 0) + bytes
    }
    return total
  }

  /** Resolves when a worker is ready; rejects if the model is refused, or with `engine-failed`. */
  warm(): Promise<void> {
    if (this.#isClosed) return Promise.reject(engineFailed())
    if (this.#readyMembers().length > 0) return Promise.resolve()
    return new Promise((resolve, reject) => {
      this.#warming.push({ resolve, reject })
      this.#serve()
    })
  }

  /** Opens a segment. Its listener is not called before this returns. */
  open(startMs: number, listener: SegmentListener, settings: RecognizeSettings = {}): PooledSegment {
    const open = { type: 'open', segment: this.#nextSegment, startMs, settings } as const
    const segment = new PooledSegment(open, listener, {
      leave: (aborted) => this.#release(aborted),
      awaiting: () => this.#watchdog.wake(),
      frameSamples: this.#options.frameSamples,
    })
    this.#nextSegment += 1
    if (this.#isClosed) queueMicrotask(() => segment.failed(engineFailed()))
    else this.#queue.add(segment)
    this.#serve()
    return segment
  }

  /** See `Engine.checkPhrases`. Rejects with `engine-failed` if the worker ends before it has answered. */
  async checkPhrases(phrases: readonly string[]): Promise<readonly PhraseFault[]> {
    await this.warm()
    const [member] = this.#readyMembers().toSorted((a, b) => a.segments.size - b.segments.size)
    if (member === undefined) throw engineFailed()
    const check = this.#nextCheck
    this.#nextCheck += 1
    return new Promise((resolve, reject) => {
      member.checks.set(check, { resolve, reject })
      member.worker.setBusy(true)
      member.worker.post({ type: 'check-phrases', check, phrases })
      this.#watchdog.wake()
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const members = [...this.#members]
    this.#watchdog.stop()
    this.#failAll(engineFailed())
    await Promise.all(members.map(({ worker }) => worker.terminate()))
  }

  #readyMembers(): readonly Member[] {
    return [...this.#members].filter(({ phase }) => phase.type === 'ready' || phase.type === 'worn')
  }

  /** Gives free decoders to queued segments, and starts another worker if all have work. */
  #serve(): void {
    for (const segment of this.#queue) {
      const member = this.#leastBusy()
      if (member === undefined) break
      this.#queue.delete(segment)
      if (member.segments.size === 0) member.worker.setBusy(true)
      member.segments.set(segment.id, segment)
      segment.start(member.worker.post)
    }
    if (this.#needsWorker()) this.#startWorker()
  }

  #leastBusy(): Member | undefined {
    const free = this.#readyMembers().filter(({ segments }) => segments.size < this.#options.decodersPerWorker)
    const isWorn = ({ phase }: Member): number => (phase.type === 'worn' ? 1 : 0)
    return free.toSorted((a, b) => isWorn(a) - isWorn(b) || a.segments.size - b.segments.size)[0]
  }

  #needsWorker(): boolean {
    const members = [...this.#members].filter(({ phase }) => phase.type !== 'worn')
    if (this.#isClosed || members.length >= this.#options.workers) return false
    if (members.some(({ phase }) => phase.type !== 'ready')) return false
    const isWanted = this.#queue.size > 0 || this.#warming.length > 0 || this.#members.size > 0
    return isWanted && members.every(({ segments }) => segments.size > 0)
  }

  #startWorker(): void {
    const earliestMs = this.#options.now() - endWindowMs
    if (this.#endsAtMs.filter((atMs) => atMs > earliestMs).length >= maxEnds) {
      if (this.#members.size === 0) queueMicrotask(() => this.#failAll(engineFailed(this.#lastCause)))
      return
    }
    const member: Member = {
      worker: this.#options.start({
        message: (message) => this.#receive(member, message),
        ended: (cause) => this.#ended(member, cause),
      }),
      segments: new Map(),
      checks: new Map(),
      phase: { type: 'loading' },
      awaited: () => awaitedFrom(member),
      hung: () => this.#hung(member),
    }
    this.#members.add(member)
    this.#watchdog.add(member)
  }

  #receive(member: Member, message: FromWorker): void {
    if (!this.#members.has(member)) return
    this.#busyMs += message.busyMs ?? 0
    this.#watchdog.responded(member)
    if (message.type === 'ready') {
      member.phase = { type: 'ready' }
      this.#becomeIdle(member)
      this.#endWorn()
      for (const { resolve } of this.#warming.splice(0)) resolve()
      this.#serve()
    } else if (message.type === 'worn') {
      if (member.phase.type === 'ready') member.phase = { type: 'worn' }
      this.#serve()
      this.#endWorn()
    } else if (message.type === 'refused') {
      member.phase = { type: 'refused', sentence: message.sentence }
      void member.worker.terminate()
    } else if (message.type === 'phrases-checked') {
      member.checks.get(message.check)?.resolve(message.faults)
      member.checks.delete(message.check)
      this.#becomeIdleIfDone(member)
    } else if (message.type !== 'working') this.#receiveAnswer(member, message)
  }

  #receiveAnswer(
    member: Member,
    message: FromWorker & { readonly type: 'progress' | 'checked' | 'decided' | 'failed' },
  ): void {
    const segment = member.segments.get(message.segment)
    if (segment === undefined) return
    if (message.type === 'progress') {
      segment.progress(message.sampleCount, message.partial, message.stableLength)
      return
    }
    if (message.type === 'checked') {
      segment.checked(message.isComplete)
      return
    }
    this.#release(segment)
    if (message.type === 'decided') segment.decided(message.words, message.text)
    else segment.failed(engineFailed())
  }

  /** The segment no longer needs a decoder or a place in the queue. */
  #release(segment: PooledSegment): void {
    this.#queue.delete(segment)
    const member = [...this.#members].find(({ segments }) => segments.delete(segment.id))
    if (member !== undefined) this.#becomeIdleIfDone(member)
    this.#serve()
  }

  #becomeIdleIfDone(member: Member): void {
    if (member.segments.size > 0 || member.checks.size > 0) return
    this.#becomeIdle(member)
    this.#endWorn()
  }

  /** Ends a worker without work in whose place another is ready. */
  #endWorn(): void {
    const members = [...this.#members]
    if (!members.some(({ phase }) => phase.type === 'ready')) return
    const isDone = ({ phase, segments, checks }: Member): boolean =>
      phase.type === 'worn' && segments.size === 0 && checks.size === 0
    for (const member of members.filter(isDone)) {
      this.#watchdog.remove(member)
      this.#members.delete(member)
      void member.worker.terminate()
    }
  }

  /** From here on neither the worker nor a timer keeps the process alive. */
  #becomeIdle({ worker }: Member): void {
    worker.setBusy(false)
    this.#watchdog.stopIfIdle()
  }

  /** The worker counts as ended at once: its segments do not wait until a blocked thread has really ended. */
  #hung(member: Member): void {
    const cause = new Error('The worker did not answer in time.')
    // Another one would probably take as long, so nothing waits for it.
    if (member.phase.type === 'loading' && this.#readyMembers().length === 0) this.#failAll(engineFailed(cause))
    this.#ended(member, cause)
    void member.worker.terminate()
  }

  #ended(member: Member, cause: unknown): void {
    this.#watchdog.remove(member)
    if (!this.#members.delete(member) || this.#isClosed) return
    this.#lastCause = cause
    this.#endsAtMs.push(this.#options.now())
    this.#endsAtMs.splice(0, this.#endsAtMs.length - maxEnds)
    // One in the place of another that still works refuses nothing.
    if (member.phase.type === 'refused' && this.#readyMembers().length === 0)
      this.#failAll(this.#options.refusalError(member.phase.sentence, cause))
    // A segment that was alone on the worker may have caused its end.
    const error = member.segments.size > 1 ? workerLost(cause) : engineFailed(cause)
    for (const segment of member.segments.values()) segment.failed(error)
    for (const { reject } of member.checks.values()) reject(engineFailed(cause))
    this.#serve()
  }

  #failAll(error: SpeechError): void {
    const segments = [...this.#queue, ...[...this.#members].flatMap((member) => [...member.segments.values()])]
    const checks = [...this.#members].flatMap((member) => [...member.checks.values()])
    this.#queue.clear()
    for (const member of this.#members) {
      member.segments.clear()
      member.checks.clear()
    }
    for (const segment of segments) segment.failed(error)
    for (const { reject } of checks) reject(error)
    for (const { reject } of this.#warming.splice(0)) reject(error)
  }
}
