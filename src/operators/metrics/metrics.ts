import { asyncScheduler, defer, mergeMap, type OperatorFunction, type SchedulerLike } from 'rxjs'
import type {
  ConnectionEvent,
  FinalEvent,
  LedgerEvent,
  MilestoneEvent,
  PartialEvent,
  ResumedEvent,
  SessionEvent,
} from '../../protocol/session-event.js'
import { checkOptions, objectWith, optionsOf, schedulerValue } from '../../protocol/validation.js'
import { emitAtEnd, type StreamEnd } from '../emit-at-end.js'
import { DropCounter } from './drop-counter.js'
import type { SampleClock } from './sample-clock.js'
import { Histogram, type Distribution } from './histogram.js'

/** The clocks of the measurements. */
export interface MetricsOptions {
  /**
   * A clock that counts the session's audio, which makes delays exact for any source. Without it, positions in the
   * audio are converted to times by the latest ledger event, assuming real time since. @default none
   */
  readonly clock?: SampleClock | undefined
  /** The clock of all delays, the same as that of `clock`. @default asyncScheduler */
  readonly scheduler?: SchedulerLike | undefined
}

/** The latest metrics of a session or of one channel, in milliseconds; absent until there is a value. */
export interface SessionMetrics {
  /** From the time the session was ready for audio to the first partial. */
  readonly timeToFirstPartialMs?: number
  /** From the start of a segment of speech to its first partial. Needs times from the service. */
  readonly speechToPartialMs?: number
  /** From the end of a segment of speech to its milestone. Needs times from the service. */
  readonly speechToMilestoneMs?: number
  /** From the end of the audio (`finalizing`) to the final. */
  readonly finalizeToFinalMs?: number
  /** Audio that was sent and is not finalized yet. */
  readonly lagMs?: number
  /** Audio that the client buffers, sent or not. */
  readonly bufferedMs?: number
  /** Audio that was dropped, as `gap` events report it. */
  readonly droppedMs: number
  /** The number of connections that continued the session. */
  readonly reconnects: number
  /** The number of attempts to reconnect, including failed ones. */
  readonly attempts: number
  /** Audio that was sent again. */
  readonly retransmittedMs: number
}

/** The metrics whose distribution over the session is summarized. */
export type DistributionName =
  'timeToFirstPartialMs' | 'speechToPartialMs' | 'speechToMilestoneMs' | 'finalizeToFinalMs' | 'lagMs' | 'bufferedMs'

/** The metrics of a running session. */
export interface MetricsUpdate {
  readonly type: 'metrics'
  /** Milliseconds since the subscription. */
  readonly atMs: number
  /** Of all channels: the latest delays, and the sums of counts and of audio. */
  readonly session: SessionMetrics
  /** The metrics of the channels that events name. */
  readonly channels: readonly (SessionMetrics & { readonly channel: number })[]
}

/** The last metrics, and the distribution of each over the session, of all channels together. */
export interface MetricsSummary extends Omit<MetricsUpdate, 'type'> {
  readonly type: 'summary'
  /** How the session ended. */
  readonly outcome: 'completed' | 'failed'
  /** The distribution of each metric that had a value. */
  readonly distributions: Readonly<Partial<Record<DistributionName, Distribution>>>
}

/**
 * Measures a running session: emits an update for each event that changes a metric, and a summary at the end.
 *
 * - Delays are measured when an event arrives, by the scheduler's clock; a negative delay counts as 0.
 * - Completion and error: emits the summary, then the same. Unsubscription: no summary.
 * - Buffering: the latest metrics, and a histogram of fixed size for each distribution. No timer.
 *
 * @example
 * ```ts
 * session$.pipe(metrics(), last()).subscribe((summary) => console.log(summary.session.speechToMilestoneMs))
 * ```
 */
export const metrics = (
  options: MetricsOptions = {},
): OperatorFunction<SessionEvent, MetricsUpdate | MetricsSummary> => {
  checkOptions(metricsOptions, options)
  const { clock, scheduler = asyncScheduler } = options
  return (source$) =>
    defer(() => {
      const collector = new MetricsCollector(scheduler, clock)
      return source$.pipe(
        mergeMap((event) => collector.take(event)),
        emitAtEnd<MetricsUpdate, MetricsSummary>((end) => [collector.summary(end)]),
      )
    })
}

const metricsOptions = optionsOf<MetricsOptions>()(
  {},
  { clock: objectWith('count', 'audioMs', 'wallMsAt'), scheduler: schedulerValue },
)

type Channel = number | undefined
/** Metrics that are summed up over channels. */
type Sum = 'droppedMs' | 'reconnects' | 'attempts' | 'retransmittedMs'
type Stock = 'lagMs' | 'bufferedMs'

const none: SessionMetrics = { droppedMs: 0, reconnects: 0, attempts: 0, retransmittedMs: 0 }

/** The metrics of one session, and the times that they are measured from. */
class MetricsCollector {
  readonly #scheduler: SchedulerLike
  readonly #clock: SampleClock | undefined
  readonly #beganMs: number
  readonly #histograms = new Map<DistributionName, Histogram>()
  readonly #drops = new DropCounter()
  readonly #byChannel = new Map<number, SessionMetrics>()
  /** Channels whose current segment has had its first partial. */
  readonly #speaking = new Set<number>()
  #session: SessionMetrics = none
  #streamingMs: number | undefined
  #finalizingMs: number | undefined
  /** The captured audio of the latest ledger event, and its time. */
  #captured: { readonly audioMs: number; readonly wallMs: number } | undefined

  constructor(scheduler: SchedulerLike, clock: SampleClock | undefined) {
    this.#scheduler = scheduler
    this.#clock = clock
    this.#beganMs = scheduler.now()
  }

  take(event: SessionEvent): readonly MetricsUpdate[] {
    const before = this.#session
    switch (event.type) {
      case 'partial':
        this.#takePartial(event)
        break
      case 'milestone':
        this.#takeMilestone(event)
        break
      case 'final':
        this.#takeFinal(event)
        break
      case 'ledger':
        this.#takeLedger(event)
        break
      case 'connection':
        this.#takeConnection(event)
        break
      case 'gap':
        this.#drops.add(event)
        break
      case 'resumed':
        this.#takeResumed(event)
        break
      default:
        return []
    }
    return this.#session === before ? [] : [this.#update()]
  }

  summary({ type }: StreamEnd): MetricsSummary {
    const distributions: Partial<Record<DistributionName, Distribution>> = {}
    for (const [name, histogram] of this.#histograms) {
      const distribution = histogram.distribution()
      if (distribution !== undefined) distributions[name] = distribution
    }
    return { ...this.#update(), type: 'summary', outcome: type, distributions }
  }

  #update(): MetricsUpdate {
    const channels = [...this.#byChannel]
      .map(([channel, values]) => ({ channel, ...values }))
      .sort((a, b) => a.channel - b.channel)
    return { type: 'metrics', atMs: this.#scheduler.now() - this.#beganMs, session: this.#session, channels }
  }

  #takePartial({ channel, startMs }: PartialEvent): void {
    const key = channel ?? 0
    const isFirst = this.#metricsOf(channel).timeToFirstPartialMs === undefined
    if (isFirst && this.#streamingMs !== undefined) {
      this.#delay('timeToFirstPartialMs', channel, this.#scheduler.now() - this.#streamingMs)
    }
    if (this.#speaking.has(key)) return
    this.#speaking.add(key)
    this.#delaySince('speechToPartialMs', channel, startMs)
  }

  #takeMilestone({ channel, endMs }: MilestoneEvent): void {
    this.#speaking.delete(channel ?? 0)
    this.#delaySince('speechToMilestoneMs', channel, endMs)
  }

  #takeFinal({ channel }: FinalEvent): void {
    this.#speaking.delete(channel ?? 0)
    if (this.#finalizingMs === undefined) return
    this.#delay('finalizeToFinalMs', channel, this.#scheduler.now() - this.#finalizingMs)
  }

  #takeLedger(event: LedgerEvent): void {
    const { channel, capturedMs, finalizedMs, pendingMs, replayedPendingMs, droppedMs, sentMs } = event
    this.#captured = { audioMs: capturedMs, wallMs: this.#scheduler.now() }
    const lagMs = Math.max(0, sentMs - this.#drops.before(sentMs, channel) - finalizedMs)
    this.#set(channel, { lagMs, bufferedMs: pendingMs + replayedPendingMs, droppedMs })
    this.#count('lagMs', this.#session.lagMs)
    this.#count('bufferedMs', this.#session.bufferedMs)
  }

  #takeConnection(event: ConnectionEvent): void {
    switch (event.state) {
      case 'streaming':
        this.#streamingMs ??= this.#scheduler.now()
        break
      case 'finalizing':
        this.#finalizingMs ??= this.#scheduler.now()
        break
      case 'reconnecting': {
        const { attempts } = this.#metricsOf(event.channel)
        this.#set(event.channel, { attempts: attempts + 1, bufferedMs: event.bufferedMs })
        this.#count('bufferedMs', this.#session.bufferedMs)
        break
      }
      default:
    }
  }

  #takeResumed({ channel, isNextRecognition, replayedMs }: ResumedEvent): void {
    const { reconnects, retransmittedMs } = this.#metricsOf(channel)
    this.#set(channel, {
      reconnects: isNextRecognition ? reconnects : reconnects + 1,
      retransmittedMs: retransmittedMs + replayedMs,
    })
  }

  /** A delay since the audio at this position passed. */
  #delaySince(name: DistributionName, channel: Channel, audioMs: number | undefined): void {
    if (audioMs === undefined) return
    const wallMs = this.#clock === undefined ? this.#wallMsAt(audioMs) : this.#clock.wallMsAt(audioMs)
    if (wallMs !== undefined) this.#delay(name, channel, this.#scheduler.now() - wallMs)
  }

  #wallMsAt(audioMs: number): number | undefined {
    if (this.#captured !== undefined) return this.#captured.wallMs - this.#captured.audioMs + audioMs
    return this.#streamingMs === undefined ? undefined : this.#streamingMs + audioMs
  }

  #delay(name: DistributionName, channel: Channel, ms: number): void {
    const delayMs = Math.max(0, ms)
    this.#count(name, delayMs)
    if (channel !== undefined) this.#byChannel.set(channel, { ...this.#metricsOf(channel), [name]: delayMs })
    this.#session =
      name === 'timeToFirstPartialMs' ? { [name]: delayMs, ...this.#session } : { ...this.#session, [name]: delayMs }
  }

  #count(name: DistributionName, ms: number | undefined): void {
    if (ms === undefined) return
    const histogram = this.#histograms.get(name) ?? new Histogram()
    this.#histograms.set(name, histogram)
    histogram.add(ms)
  }

  #metricsOf(channel: Channel): SessionMetrics {
    return channel === undefined ? this.#session : (this.#byChannel.get(channel) ?? none)
  }

  /** Adds the change of a channel to the metrics of the session. */
  #set(channel: Channel, change: Partial<Pick<SessionMetrics, Sum | Stock>>): void {
    if (channel === undefined) {
      this.#session = { ...this.#session, ...change }
      return
    }
    const before = this.#metricsOf(channel)
    this.#byChannel.set(channel, { ...before, ...change })
    for (const name of Object.keys(change) as (Sum | Stock)[]) {
      const difference = (change[name] ?? 0) - (before[name] ?? 0)
      this.#session = { ...this.#session, [name]: (this.#session[name] ?? 0) + difference }
    }
  }
}
