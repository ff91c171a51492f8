import {
  asyncScheduler,
  Observable,
  Subject,
  Subscription,
  takeWhile,
  type OperatorFunction,
  type SchedulerLike,
  type Subscriber,
  type Unsubscribable,
} from 'rxjs'
import { codesWith } from 'rxspeech/internal/errors/error-table'
import { isSpeechError, SpeechError, toSpeechError } from 'rxspeech/internal/errors/speech-error'
import { Mailbox } from 'rxspeech/internal/kernel/mailbox'
import { schedule } from 'rxspeech/internal/kernel/timers'
import { keepStable } from 'rxspeech/internal/protocol/stable-length'
import { withRecognize, type Engine, type Hypothesis, type SegmentAttempt, type SegmentPart } from './engine.js'
import { UndecidedSegments } from './undecided-segments.js'

export interface RetryOptions {
  /** How much audio of one channel is kept for retries, in bytes. @default 1048576, which is 65 s at 8 kHz */
  readonly maxKeptBytes?: number | undefined
  /**
   * The delay before each retry after the engine was lost, in milliseconds.
   * @default [0, 1000, 2500, 4500, 6500], for an engine that has to come back
   */
  readonly delaysAfterLossMs?: readonly number[] | undefined
  /** How many samples before the rest of a segment, of which a part is decided, are its context. @default 0 */
  readonly contextSamples?: number | undefined
  /**
   * Called with failures that are retried, and when an engine is overloaded. Any other failure ends the session with
   * its error.
   */
  readonly onFault?: ((error: SpeechError, attempt: SegmentAttempt) => void) | undefined
  /** The id of the session, for `onFault`. @default none */
  readonly sessionId?: string | undefined
  /** @default asyncScheduler */
  readonly scheduler?: SchedulerLike | undefined
}

const defaultKeptBytes = 1_048_576

/** How often a segment is retried after a decoder failed to decode it. */
const maxRetriesAfterFailure = 2
const defaultDelaysAfterLossMs = [0, 1_000, 2_500, 4_500, 6_500]
/** A segment is retried within this time after the first loss, in milliseconds. */
const lossWindowMs = 15_000

const lossCodes = codesWith('engine-loss')

/** Whether the engine itself is gone for now; it did not fail to decode this segment. */
export const isLoss = ({ cause }: SpeechError): boolean => isSpeechError(cause) && lossCodes.has(cause.code)

/** An engine that is closed and a model that is refused are not retryable. */
const isRetryable = (error: SpeechError): boolean => error.code === 'engine-failed' && error.retryable

/** Counts the retries of one segment and decides about the next. */
class RetryBudget {
  readonly #delaysAfterLossMs: readonly number[]
  #failures = 0
  #losses = 0
  #firstLossMs: number | undefined

  constructor(delaysAfterLossMs: readonly number[]) {
    this.#delaysAfterLossMs = delaysAfterLossMs
  }

  /** The delay before the next retry in milliseconds; undefined after the last one. */
  nextDelayMs(error: SpeechError, nowMs: number): number | undefined {
    if (!isLoss(error)) {
      this.#failures += 1
      return this.#failures <= maxRetriesAfterFailure ? 0 : undefined
    }
    this.#firstLossMs ??= nowMs
    const delayMs = this.#delaysAfterLossMs[this.#losses]
    this.#losses += 1
    return delayMs !== undefined && nowMs + delayMs - this.#firstLossMs <= lossWindowMs ? delayMs : undefined
  }
}

/** One subscription of the engine, for a channel. */
interface Attempt {
  readonly part$: Subject<SegmentPart>
  readonly subscription: Subscription
  /** How many samples it processed since the oldest undecided segment opened. */
  processedSamples: number
  hasFailed: boolean
}

type Input =
  | SegmentPart
  | { readonly type: 'completed' }
  | { readonly type: 'failed'; readonly attempt: Attempt; readonly cause: unknown }
  | { readonly type: 'retry'; readonly cause: SpeechError }

/** One channel of one session: a first attempt of the engine, and others after failures. */
class RetriedChannel {
  readonly #recognize: () => OperatorFunction<SegmentPart, Hypothesis>
  readonly #onFault: RetryOptions['onFault']
  readonly #sessionId: string | undefined
  readonly #scheduler: SchedulerLike
  readonly #out: Subscriber<Hypothesis>
  readonly #segments: UndecidedSegments
  /** Parts that arrive while those before them are replayed wait here. */
  readonly #mailbox = new Mailbox<Input>((input) => this.#handle(input))
  /** Undefined while a retry is delayed. */
  #attempt: Attempt | undefined
  #delay: Unsubscribable | undefined
  readonly #delaysAfterLossMs: readonly number[]
  #budget: RetryBudget
  #isCompleted = false
  #endMs = 0
  /** What was stable in the last partial, and of which segment. */
  #stable = { startMs: NaN, text: '' }
  /** Samples that were reported as progress since the oldest undecided segment opened. */
  #reportedSamples = 0

  constructor(
    recognize: () => OperatorFunction<SegmentPart, Hypothesis>,
    options: RetryOptions,
    out: Subscriber<Hypothesis>,
  ) {
    const { maxKeptBytes = defaultKeptBytes, onFault, scheduler = asyncScheduler } = options
    this.#delaysAfterLossMs = options.delaysAfterLossMs ?? defaultDelaysAfterLossMs
    this.#budget = new RetryBudget(this.#delaysAfterLossMs)
    this.#recognize = recognize
    this.#onFault = onFault
    this.#sessionId = options.sessionId
    this.#scheduler = scheduler
    this.#out = out
    this.#segments = new UndecidedSegments(maxKeptBytes, options.contextSamples)
    this.#startAttempt()
  }

  post(input: Input): void {
    this.#mailbox.post(input)
  }

  release(): void {
    this.#delay?.unsubscribe()
    this.#attempt?.subscription.unsubscribe()
  }

  #handle(input: Input): void {
    if (this.#out.closed) return
    if (input.type === 'failed') this.#fail(input.attempt, input.cause)
    else if (input.type === 'retry') this.#retry(input.cause)
    else if (input.type === 'completed') {
      this.#isCompleted = true
      this.#attempt?.part$.complete()
    } else {
      this.#segments.add(input)
      this.#attempt?.part$.next(input)
    }
  }

  #startAttempt(): Attempt {
    const attempt: Attempt = {
      part$: new Subject<SegmentPart>(),
      subscription: new Subscription(),
      processedSamples: 0,
      hasFailed: false,
    }
    this.#attempt = attempt
    attempt.subscription.add(
      attempt.part$.pipe(this.#recognize()).subscribe({
        next: (hypothesis) => this.#receive(attempt, hypothesis),
        error: (cause: unknown) => {
          attempt.hasFailed = true
          this.post({ type: 'failed', attempt, cause })
        },
        complete: () => this.#out.complete(),
      }),
    )
    return attempt
  }

  #receive(attempt: Attempt, hypothesis: Hypothesis): void {
    if (hypothesis.type === 'progress') this.#countProgress(attempt, hypothesis.sampleCount)
    else if (hypothesis.type === 'segment') this.#decide(attempt, hypothesis)
    else if (hypothesis.type === 'checked') {
      if (this.#segments.answered()) this.#out.next(hypothesis)
    }
    // Until a retry has come as far as the attempt before it, its partials are behind those that the client has.
    else if (hypothesis.type !== 'partial') this.#out.next(hypothesis)
    else if (attempt.processedSamples >= this.#reportedSamples) this.#showPartial(hypothesis)
  }

  /** A partial, unless it would take back what was stable in those of an attempt before. */
  #showPartial(hypothesis: Extract<Hypothesis, { readonly type: 'partial' }>): void {
    const { startMs } = hypothesis
    const partial = startMs === this.#stable.startMs ? keepStable(this.#stable.text, hypothesis) : hypothesis
    if (partial === undefined) return
    this.#stable = { startMs, text: partial.text.slice(0, partial.stableLength ?? 0) }
    this.#out.next(partial)
  }

  /** Samples are counted once; those that are decoded again are reported as a sign of life, with 0. */
  #countProgress(attempt: Attempt, sampleCount: number): void {
    attempt.processedSamples += sampleCount
    const added = Math.max(attempt.processedSamples - this.#reportedSamples, 0)
    this.#reportedSamples += added
    this.#out.next({ type: 'progress', sampleCount: added })
  }

  #decide(attempt: Attempt, segment: Hypothesis & { readonly type: 'segment' }): void {
    const sampleCount = segment.decidedSamples ?? this.#segments.removeOldest()
    if (segment.decidedSamples !== undefined) this.#segments.cutOldest(sampleCount, segment.endMs)
    this.#reportedSamples = Math.max(this.#reportedSamples - sampleCount, 0)
    attempt.processedSamples = Math.max(attempt.processedSamples - sampleCount, 0)
    this.#budget = new RetryBudget(this.#delaysAfterLossMs)
    this.#endMs = segment.endMs
    this.#out.next(segment)
  }

  #fail(attempt: Attempt, cause: unknown): void {
    if (this.#attempt !== attempt) return
    this.#attempt = undefined
    const error = toSpeechError(cause, 'engine-failed', 'The recognition engine failed; try again.')
    const canRetry = isRetryable(error) && this.#segments.isComplete
    const delayMs = canRetry ? this.#budget.nextDelayMs(error, this.#scheduler.now()) : undefined
    const retried = delayMs !== undefined
    const failed = { startMs: this.#endMs, attempt: 1, ...this.#segments.oldest }
    this.#out.next({ type: 'fault', startMs: failed.startMs, error, retried })
    if (this.#out.closed) return
    if (retried || error.code === 'overloaded') this.#onFault?.(error, { sessionId: this.#sessionId, ...failed })
    if (!retried) this.#out.error(isRetryable(error) && !this.#segments.isComplete ? tooLong(error) : error)
    else if (delayMs === 0) this.#retry(error)
    else {
      const retry = (): void => this.post({ type: 'retry', cause: error })
      this.#delay = schedule(this.#scheduler, delayMs, retry, { ref: true })
    }
  }

  /** Starts another attempt and replays everything since the oldest undecided segment opened. */
  #retry(cause: SpeechError): void {
    if (!this.#segments.isComplete) {
      this.#out.error(tooLong(cause))
      return
    }
    const attempt = this.#startAttempt()
    for (const part of this.#segments.parts()) {
      if (attempt.hasFailed || this.#out.closed) return
      attempt.part$.next(part)
    }
    if (this.#isCompleted && !attempt.hasFailed) attempt.part$.complete()
  }
}

const tooLong = (cause: SpeechError): SpeechError =>
  new SpeechError(
    'engine-failed',
    'The recognition engine failed within a segment that is too long to be retried; try again.',
    { cause },
  )

/**
 * Retries an engine after failures: a channel that fails with `engine-failed` is subscribed again and gets the audio of
 * every segment without a result. A segment is retried at once, twice at most, if the engine failed to decode it, and
 * up to five times within 15 s if the engine was lost, which the code of the error's `cause` shows. Each failure is
 * emitted as `fault`. A segment is emitted once and progress is counted once; there are no partials until an attempt
 * has come as far as the one before it.
 *
 * Fails when a segment has no retry left, when an error is not `retryable` or has another code, such as `overloaded`,
 * and when a segment is longer than `maxKeptBytes`, which bounds what is buffered. Errors of the source pass through at
 * once.
 */
export const retrySegments =
  (
    recognize: () => OperatorFunction<SegmentPart, Hypothesis>,
    options: RetryOptions = {},
  ): OperatorFunction<SegmentPart, Hypothesis> =>
  (part$) =>
    new Observable((subscriber) => {
      const channel = new RetriedChannel(recognize, options, subscriber)
      subscriber.add(() => channel.release())
      subscriber.add(
        part$.pipe(takeWhile(() => !subscriber.closed)).subscribe({
          next: (part) => channel.post(part),
          error: (error: unknown) => subscriber.error(error),
          complete: () => channel.post({ type: 'completed' }),
        }),
      )
    })

/** Returns the same engine, whose channels are retried after failures. */
export const withSegmentRetry = (engine: Engine, options: RetryOptions = {}): Engine => {
  const { sampleRateHz, contextMs = 0 } = engine.capabilities
  const contextSamples = (sampleRateHz * contextMs) / 1000
  return withRecognize(engine, (settings) =>
    retrySegments(() => engine.recognize(settings), { contextSamples, ...options, sessionId: settings?.sessionId }),
  )
}
