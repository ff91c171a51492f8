import {
  asyncScheduler,
  Observable,
  Subject,
  Subscription,
  takeWhile,
  type OperatorFunction,
  type SchedulerLike,
  type Subscriber,
} from 'rxjs'
import type { ErrorCode } from '../../errors/error-code.js'
import { isSpeechError, SpeechError, toSpeechError } from '../../errors/speech-error.js'
import type { Engine, Hypothesis, SegmentPart } from './engine.js'
import { KeptSegments } from './undecided-segments.js'

export interface RetryOptions {
  /** The most audio of one lane that is kept to be read again, in bytes; 1 MiB, 65 s at 8 kHz, when absent. */
  readonly maxKeptBytes?: number
  /** Told of the faults that sessions survive, and of an engine that is overloaded; other faults end a session as its error. */
  readonly onFault?: (error: SpeechError) => void
  /** @default asyncScheduler */
  readonly scheduler?: SchedulerLike
}

const defaultKeptBytes = 1_048_576

/** An engine's own fault: whoever closes an engine, or refuses a model, says that trying again is of no use. */
const isPassing = (error: SpeechError): boolean => error.code === 'engine-failed' && error.retryable

/** Causes that say that the engine was lost, and not that it failed to read this segment. */
const lostBy: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'connection-failed',
  'connection-lost',
  'connect-timeout',
  'start-timeout',
  'going-away',
])

const isLost = ({ cause }: SpeechError): boolean => isSpeechError(cause) && lostBy.has(cause.code)

/** How often a segment is read again that a decoder failed to read. */
const maxRepeats = 2
/** How long to wait before each reading after the engine was lost, in milliseconds. */
const waitsAfterLossMs = [0, 1_000, 2_500, 4_500, 6_500]
/** How long after the first loss a segment is still read again, in milliseconds. */
const lossWindowMs = 15_000

/** How often the oldest undecided segment was read again, and when its engine was lost first. */
interface Repeats {
  failures: number
  losses: number
  lostAtMs: number | undefined
}

/** One channel of one session over one engine lane, and over others after faults. */
class RetriedLane {
  private readonly kept: KeptSegments
  private attempt$ = new Subject<SegmentPart>()
  private life = new Subscription()
  private repeats: Repeats = { failures: 0, losses: 0, lostAtMs: undefined }
  /** Until a lost engine is tried again no lane is open, and parts that come are kept. */
  private pause = Subscription.EMPTY
  /** Parts that come while those before them are given again. */
  private waiting: SegmentPart[] | undefined
  private completed = false
  private endMs = 0
  /** Samples since the oldest undecided segment opened: told as progress, and heard by the present attempt. */
  private told = 0
  private heard = 0

  constructor(
    private readonly recognize: () => OperatorFunction<SegmentPart, Hypothesis>,
    private readonly options: RetryOptions,
    private readonly out: Subscriber<Hypothesis>,
  ) {
    this.kept = new KeptSegments(options.maxKeptBytes ?? defaultKeptBytes)
    this.open()
  }

  next(part: SegmentPart): void {
    if (this.waiting !== undefined) {
      this.waiting.push(part)
      return
    }
    this.kept.add(part)
    this.attempt$.next(part)
  }

  complete(): void {
    this.completed = true
    if (this.waiting === undefined) this.attempt$.complete()
  }

  release(): void {
    this.pause.unsubscribe()
    this.life.unsubscribe()
  }

  private open(): void {
    const attempt$ = new Subject<SegmentPart>()
    const life = new Subscription()
    this.attempt$ = attempt$
    this.life = life
    this.heard = 0
    life.add(
      attempt$.pipe(this.recognize()).subscribe({
        next: (hypothesis) => this.hear(hypothesis),
        error: (error: unknown) => this.fail(error, attempt$),
        complete: () => this.out.complete(),
      }),
    )
  }

  private hear(hypothesis: Hypothesis): void {
    if (hypothesis.type === 'progress') this.progress(hypothesis.sampleCount)
    else if (hypothesis.type === 'segment') this.decided(hypothesis)
    // What was heard before says no less: nothing new is known before the audio is read as far as it was
    else if (hypothesis.type !== 'partial' || this.heard >= this.told) this.out.next(hypothesis)
  }

  /** Audio that is read again was counted before; that it is read is told all the same. */
  private progress(sampleCount: number): void {
    this.heard += sampleCount
    const more = Math.max(this.heard - this.told, 0)
    this.told += more
    this.out.next({ type: 'progress', sampleCount: more })
  }

  private decided(segment: Extract<Hypothesis, { type: 'segment' }>): void {
    const sampleCount = this.kept.decide()
    this.told = Math.max(this.told - sampleCount, 0)
    this.heard = Math.max(this.heard - sampleCount, 0)
    this.repeats = { failures: 0, losses: 0, lostAtMs: undefined }
    this.endMs = segment.endMs
    this.out.next(segment)
  }

  private fail(fault: unknown, attempt$: Subject<SegmentPart>): void {
    if (this.attempt$ !== attempt$ || this.out.closed) return
    const error = toSpeechError(fault, 'engine-failed', 'The recognition engine failed; try again.')
    const waitMs = isPassing(error) && this.kept.isWhole ? this.waitBeforeNext(error) : undefined
    const retried = waitMs !== undefined
    this.out.next({ type: 'fault', startMs: this.kept.startMs ?? this.endMs, error, retried })
    if (this.out.closed) return
    if (retried || error.code === 'overloaded') this.options.onFault?.(error)
    if (!retried) this.out.error(isPassing(error) && !this.kept.isWhole ? tooLong(error) : error)
    else if (waitMs === 0) this.again()
    else this.againAfter(waitMs, error)
  }

  /** How long to wait before the segment is read again, in milliseconds; undefined where it is not. */
  private waitBeforeNext(error: SpeechError): number | undefined {
    const { repeats } = this
    if (!isLost(error)) {
      repeats.failures += 1
      return repeats.failures <= maxRepeats ? 0 : undefined
    }
    const nowMs = this.scheduler.now()
    repeats.lostAtMs ??= nowMs
    const waitMs = waitsAfterLossMs[repeats.losses]
    repeats.losses += 1
    return waitMs !== undefined && nowMs + waitMs - repeats.lostAtMs <= lossWindowMs ? waitMs : undefined
  }

  private againAfter(waitMs: number, error: SpeechError): void {
    // A fault that comes while parts are given again leaves those that wait behind them.
    for (const part of this.waiting ?? []) this.kept.add(part)
    this.waiting = undefined
    this.attempt$ = new Subject()
    this.pause = this.scheduler.schedule(() => {
      if (this.kept.isWhole) this.again()
      else this.out.error(tooLong(error))
    }, waitMs)
  }

  private get scheduler(): SchedulerLike {
    return this.options.scheduler ?? asyncScheduler
  }

  /** A lane anew, from the start of the oldest undecided segment. */
  private again(): void {
    this.waiting ??= []
    this.open()
    const { attempt$ } = this
    for (const parts of this.kept.parts()) {
      for (const part of parts) {
        attempt$.next(part)
        if (this.attempt$ !== attempt$ || this.out.closed) return
      }
    }
    for (let part = this.waiting.shift(); part !== undefined; part = this.waiting.shift()) {
      this.kept.add(part)
      attempt$.next(part)
      if (this.attempt$ !== attempt$ || this.out.closed) return
    }
    this.waiting = undefined
    if (this.completed) attempt$.complete()
  }
}

const tooLong = (cause: SpeechError): SpeechError =>
  new SpeechError(
    'engine-failed',
    'The recognition engine failed within a segment that is too long to be read again; try again.',
    { cause },
  )

/**
 * Reads again after a fault: an engine lane that fails with `engine-failed` is left, and one anew is given the audio of
 * every segment that was not decided. A segment is read again at once and at most twice where the engine failed to read
 * it, and up to five times within 15 s where the engine was lost, which the code of the error's cause says. Each fault is
 * reported as `fault`. `segment` comes exactly once and progress is counted once; there are no partials until the audio is
 * read as far as it was before.
 *
 * Ends with the error when a segment may not be read again, when an error says that it is not `retryable` or has another
 * code, such as `overloaded`, or when a segment is longer than `maxKeptBytes`, which are all that is buffered. Errors of
 * the source pass through at once.
 */
export const retrySegment =
  (
    recognize: () => OperatorFunction<SegmentPart, Hypothesis>,
    options: RetryOptions = {},
  ): OperatorFunction<SegmentPart, Hypothesis> =>
  (part$) =>
    new Observable((subscriber) => {
      const lane = new RetriedLane(recognize, options, subscriber)
      subscriber.add(() => lane.release())
      subscriber.add(
        part$.pipe(takeWhile(() => !subscriber.closed)).subscribe({
          next: (part) => lane.next(part),
          error: (error: unknown) => subscriber.error(error),
          complete: () => lane.complete(),
        }),
      )
    })

/** The engine with its lanes read again after a fault. */
export const withSegmentRetry = (engine: Engine, options: RetryOptions = {}): Engine => ({
  capabilities: engine.capabilities,
  recognize: () => retrySegment(() => engine.recognize(), options),
  ready: () => engine.ready(),
  busyMs: () => engine.busyMs?.(),
  close: () => engine.close(),
})
