import { asyncScheduler, defer, mergeMap, type OperatorFunction, type SchedulerLike } from 'rxjs'
import type { SessionEvent } from '../../protocol/session-event.js'
import { endWithRest } from '../end-with-rest.js'
import { MetricsBook } from './metrics-book.js'
import type { SampleClock } from './sample-clock.js'
import type { Spread } from './spread.js'

export interface MetricsOptions {
  /**
   * A clock that counts the session's audio; with it delays are true for any source. Without it, places in the audio are
   * told as moments by the latest ledger event, and by real time since.
   */
  readonly clock?: SampleClock
  /** The clock of all delays, the same as that of `clock`. Default `asyncScheduler`. */
  readonly scheduler?: SchedulerLike
}

/** The latest figures of a session or of one channel, in milliseconds; absent as long as there is none. */
export interface Figures {
  /** From the moment that the session was ready for audio to the first partial. */
  readonly timeToFirstPartialMs?: number
  /** From the beginning of a piece of speech to its first partial. Needs times from the service. */
  readonly speechToPartialMs?: number
  /** From the end of a piece of speech to its milestone. Needs times from the service. */
  readonly speechToMilestoneMs?: number
  /** From the end of the audio (`finalizing`) to the final. */
  readonly finalizeToFinalMs?: number
  /** Audio that was sent and is not finalized. */
  readonly lagMs?: number
  /** Audio that the client holds, whether it was sent or not. */
  readonly bufferedMs?: number
  readonly droppedMs: number
  /** Connections that took the session over. */
  readonly reconnects: number
  /** Attempts to have another connection, those that failed too. */
  readonly attempts: number
  /** Audio that was sent again. */
  readonly retransmittedMs: number
}

/** Figures that are spread over a session. */
export type SpreadName =
  'timeToFirstPartialMs' | 'speechToPartialMs' | 'speechToMilestoneMs' | 'finalizeToFinalMs' | 'lagMs' | 'bufferedMs'

export interface MetricsUpdate {
  readonly type: 'figures'
  /** Milliseconds since the subscription. */
  readonly atMs: number
  /** Of all channels: the latest of delays, the sum of counts and of audio that channels account apart. */
  readonly session: Figures
  /** Where events name a channel, what they say of it. */
  readonly channels: readonly (Figures & { readonly channel: number })[]
}

/** The figures as they stood at the end, and how each was spread over the session, all channels together. */
export interface MetricsSummary extends Omit<MetricsUpdate, 'type'> {
  readonly type: 'summary'
  readonly outcome: 'completed' | 'failed'
  readonly spread: Readonly<Partial<Record<SpreadName, Spread>>>
}

/**
 * Figures of a session while it runs: an update for each event that changes one, and at its end a summary.
 *
 * - Delays are taken when an event arrives, by the scheduler; a delay that would be negative is told as 0.
 * - Completion and error of the source: the summary, then the same. Unsubscribe: no summary.
 * - Buffered: the latest figures, and a histogram of fixed size for each that is spread. No timer.
 */
export const metrics =
  ({ clock, scheduler = asyncScheduler }: MetricsOptions = {}): OperatorFunction<
    SessionEvent,
    MetricsUpdate | MetricsSummary
  > =>
  (source$) =>
    defer(() => {
      const book = new MetricsBook(scheduler, clock)
      return source$.pipe(
        mergeMap((event) => book.take(event)),
        endWithRest<MetricsUpdate, MetricsSummary>((end) => [book.summary(end)]),
      )
    })
