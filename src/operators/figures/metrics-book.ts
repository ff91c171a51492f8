import type { SchedulerLike } from 'rxjs'
import type {
  ConnectionEvent,
  FinalEvent,
  LedgerEvent,
  MilestoneEvent,
  PartialEvent,
  SessionEvent,
} from '../../protocol/session-event.js'
import type { StreamEnd } from '../end-with-rest.js'
import { DropAccount } from './drop-account.js'
import type { Figures, MetricsSummary, MetricsUpdate, SpreadName } from './metrics.js'
import type { SampleClock } from './sample-clock.js'
import { Histogram, type Spread } from './spread.js'

type Channel = number | undefined
/** Figures that are sums, and so are added up over channels. */
type Sum = 'droppedMs' | 'reconnects' | 'attempts' | 'retransmittedMs'
type Stock = 'lagMs' | 'bufferedMs'

const none: Figures = { droppedMs: 0, reconnects: 0, attempts: 0, retransmittedMs: 0 }

/** The figures of one session, and when what they count from happened. */
export class MetricsBook {
  readonly #scheduler: SchedulerLike
  readonly #clock: SampleClock | undefined
  readonly #beganMs: number
  readonly #histograms = new Map<SpreadName, Histogram>()
  readonly #drops = new DropAccount()
  readonly #byChannel = new Map<number, Figures>()
  /** Channels whose piece of speech has had its first partial. */
  readonly #speaking = new Set<number>()
  #session: Figures = none
  #streamingMs: number | undefined
  #finalizingMs: number | undefined
  /** The latest account of how much had been captured, and when it came. */
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
      default:
        return []
    }
    return this.#session === before ? [] : [this.#update()]
  }

  summary({ type }: StreamEnd): MetricsSummary {
    const spread: Partial<Record<SpreadName, Spread>> = {}
    for (const [name, histogram] of this.#histograms) {
      const one = histogram.spread()
      if (one !== undefined) spread[name] = one
    }
    return { ...this.#update(), type: 'summary', outcome: type, spread }
  }

  #update(): MetricsUpdate {
    const channels = [...this.#byChannel]
      .map(([channel, figures]) => ({ channel, ...figures }))
      .sort((one, other) => one.channel - other.channel)
    return { type: 'figures', atMs: this.#scheduler.now() - this.#beganMs, session: this.#session, channels }
  }

  #takePartial({ channel, startMs }: PartialEvent): void {
    const lane = channel ?? 0
    const isFirst = this.#figuresOf(channel).timeToFirstPartialMs === undefined
    if (isFirst && this.#streamingMs !== undefined) {
      this.#delay('timeToFirstPartialMs', channel, this.#scheduler.now() - this.#streamingMs)
    }
    if (this.#speaking.has(lane)) return
    this.#speaking.add(lane)
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
      case 'gap':
        this.#drops.add(event)
        break
      case 'reconnecting': {
        const { attempts } = this.#figuresOf(event.channel)
        this.#set(event.channel, { attempts: attempts + 1, bufferedMs: event.bufferedMs })
        this.#count('bufferedMs', this.#session.bufferedMs)
        break
      }
      case 'resumed': {
        const { reconnects, retransmittedMs } = this.#figuresOf(event.channel)
        this.#set(event.channel, {
          reconnects: event.isNextRecognition ? reconnects : reconnects + 1,
          retransmittedMs: retransmittedMs + event.replayedMs,
        })
        break
      }
      default:
    }
  }

  /** A delay counted from when the audio at this place came by. */
  #delaySince(name: SpreadName, channel: Channel, audioMs: number | undefined): void {
    if (audioMs === undefined) return
    const wallMs = this.#clock === undefined ? this.#wallMsAt(audioMs) : this.#clock.wallMsAt(audioMs)
    if (wallMs !== undefined) this.#delay(name, channel, this.#scheduler.now() - wallMs)
  }

  #wallMsAt(audioMs: number): number | undefined {
    if (this.#captured !== undefined) return this.#captured.wallMs - this.#captured.audioMs + audioMs
    return this.#streamingMs === undefined ? undefined : this.#streamingMs + audioMs
  }

  #delay(name: SpreadName, channel: Channel, ms: number): void {
    const told = Math.max(0, ms)
    this.#count(name, told)
    if (channel !== undefined) this.#byChannel.set(channel, { ...this.#figuresOf(channel), [name]: told })
    this.#session =
      name === 'timeToFirstPartialMs' ? { [name]: told, ...this.#session } : { ...this.#session, [name]: told }
  }

  #count(name: SpreadName, ms: number | undefined): void {
    if (ms === undefined) return
    const histogram = this.#histograms.get(name) ?? new Histogram()
    this.#histograms.set(name, histogram)
    histogram.add(ms)
  }

  #figuresOf(channel: Channel): Figures {
    return channel === undefined ? this.#session : (this.#byChannel.get(channel) ?? none)
  }

  /** Of a channel, what has changed is put to the session's as a difference. */
  #set(channel: Channel, change: Partial<Pick<Figures, Sum | Stock>>): void {
    if (channel === undefined) {
      this.#session = { ...this.#session, ...change }
      return
    }
    const before = this.#figuresOf(channel)
    this.#byChannel.set(channel, { ...before, ...change })
    for (const name of Object.keys(change) as (Sum | Stock)[]) {
      const difference = (change[name] ?? 0) - (before[name] ?? 0)
      this.#session = { ...this.#session, [name]: (this.#session[name] ?? 0) + difference }
    }
  }
}
