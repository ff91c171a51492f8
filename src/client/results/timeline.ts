import type { SchedulerLike } from 'rxjs'
import { bytesForMs, msForBytes, type AudioFormat } from '../../audio/format.js'
import { anySound, loudSound } from '../../audio/silence.js'
import { eventName } from '../../protocol/event-name.js'
import type { FinalEvent, MilestoneEvent, NodeEvent, PartialEvent, SessionEvent } from '../../protocol/session-event.js'
import type { ReplayBuffer } from '../audio/replay-buffer.js'
import { ChannelResults, unreadAtFinalMs } from './channel-results.js'

type Result = PartialEvent | MilestoneEvent | FinalEvent

/** The maximum number of events of nodes that are stored, to recognize repetitions when audio is sent again. */
const maxRemembered = 256

/** The tolerance between the times of an event in two readings of the same audio, in milliseconds. */
const sameMs = 100

/**
 * The assumed minimum speed at which a service reads waiting audio, relative to real time: the pace that it allows
 * (PROTOCOL 8). Otherwise the buffer of a session without times would grow with each lost connection.
 */
const minReadSpeed = 1.25

/** Sound after the end of a final that still counts as read, such as the rest of a word, in milliseconds. */
const afterFinalMs = 500

/** What has times: an event, or a word of one. */
type Timed = Partial<Pick<MilestoneEvent, 'startMs' | 'endMs' | 'words'> & Pick<FinalEvent, 'heardMs'>>

/**
 * One timeline of results over all connections of a session. A connection counts time from the first sample that was
 * sent on it. Here times count from the first byte of the source, including dropped audio, and no result is repeated.
 * Audio with a milestone is settled in the buffer, so it is not sent again.
 */
export class ResultTimeline {
  readonly #buffer: ReplayBuffer
  readonly #format: AudioFormat
  readonly #clock: Pick<SchedulerLike, 'now'>
  readonly #channels: readonly [ChannelResults, ...ChannelResults[]]
  readonly #settled: number[]
  /** The position in the kept audio at which this connection's audio begins. */
  #base = 0
  #beganMs = 0
  #connections = 0
  #isEstimated = false
  /** The finalize request on this connection; `confirmed`: the service has answered it, or never does. */
  #request: 'none' | 'sent' | 'confirmed' = 'none'
  /** Whether the service ends recognitions by itself: a final without times can then cross the request. */
  #canCross = false
  /** The position up to which audio had been sent before this connection. */
  #repeatedTo = 0
  #remembered: NodeEvent[] = []

  constructor(buffer: ReplayBuffer, format: AudioFormat, clock: Pick<SchedulerLike, 'now'>) {
    this.#buffer = buffer
    this.#format = format
    this.#clock = clock
    const others = Array.from({ length: format.channels - 1 }, () => new ChannelResults())
    this.#channels = [new ChannelResults(), ...others]
    this.#settled = this.#channels.map(() => 0)
  }

  /** Whether a milestone had no times, so that the settled audio is a conservative estimate. */
  get isEstimated(): boolean {
    return this.#isEstimated
  }

  /** Whether there was a connection. */
  get hasBegun(): boolean {
    return this.#connections > 0
  }

  /** Whether audio was sent on this connection. */
  get hasSentAudio(): boolean {
    return this.#buffer.sent > this.#base
  }

  /** Whether every channel has its final, and nothing after it. */
  get isFinal(): boolean {
    return this.#channels.every(({ isFinal }) => isFinal)
  }

  /** Whether every channel has a final that arrived after the finalize request on this connection. */
  get isAnswered(): boolean {
    return this.#request !== 'none' && this.#channels.every(({ isAnswered }) => isAnswered)
  }

  /** Whether every channel that has results has its final. */
  get isWhole(): boolean {
    return !this.#channels.some(({ isOpen }) => isOpen)
  }

  /**
   * Whether the service ended a channel by itself before the end of the audio, and a sound follows. This is so if the
   * final arrived before the finalize request or may have crossed it, if the final reports a smaller position, or if it
   * ends well before a loud sound.
   */
  get isUnread(): boolean {
    return this.#channels.some((results, channel) => {
      if (results.isFinal && (!results.isAnswered || this.#mayCross(results)))
        return this.#buffer.hasSoundFrom(this.#settled[channel] ?? 0, anySound, channel)
      const { heardMs, endMs } = results.answered
      if (heardMs !== undefined) return this.#buffer.hasSoundFrom(this.#positionOf(heardMs), anySound, channel)
      if (endMs === undefined) return false
      return this.#buffer.hasSoundFrom(this.#positionOf(endMs + afterFinalMs), loudSound, channel)
    })
  }

  /** Whether a final without times has come in place of the answer to the request, and need not be the requested one. */
  #mayCross({ isAnswered, answered }: ChannelResults): boolean {
    const { heardMs, endMs } = answered
    return this.#canCross && this.#request === 'sent' && isAnswered && (heardMs ?? endMs) === undefined
  }

  /** The duration of audio that has become definitive on this connection, in milliseconds. */
  get progressMs(): number {
    return msForBytes(this.#format, this.#buffer.definitive - this.#base)
  }

  /** Finalize was requested, or refused: only later finals answer it. */
  expectFinals(): void {
    this.#request = 'sent'
    for (const results of this.#channels) results.expectFinals()
  }

  /** The service has confirmed the request, or never does: the finals since then answer it. */
  confirmFinals(): void {
    this.#request = 'confirmed'
  }

  /** Whether a final only repeats the previous one on its channel. */
  isRepeated(event: FinalEvent): boolean {
    return this.#resultsOf(event).isFinal
  }

  /** A repeated final still counts as an answer. Returns the events to emit in its place. */
  repeat(event: FinalEvent): readonly SessionEvent[] {
    this.#resultsOf(event).answer()
    return [{ type: 'unknown', reason: 'A repeated final.', raw: event.text }]
  }

  /** A final with an error arrived; whether it is emitted depends on how the connection ends. */
  hold(event: FinalEvent): void {
    this.#resultsOf(event).end()
  }

  /**
   * Another connection begins, with the first sample that has no definitive result. `isRepeated`: only because a final
   * may have crossed the request. If this one is not confirmed either, the service confirms none.
   */
  begin(): ReturnType<ReplayBuffer['rewind']> & { readonly isRepeated: boolean } {
    const isRepeated = this.#channels.some((results) => this.#mayCross(results))
    const isOwnEnd = this.#channels.some(
      ({ isFinal, isAnswered }) => isFinal && (this.#request === 'none' || !isAnswered),
    )
    this.#canCross = !isRepeated && (this.#canCross || isOwnEnd)
    this.#repeatedTo = Math.max(this.#repeatedTo, this.#buffer.sent)
    const rewound = this.#buffer.rewind()
    this.#base = this.#buffer.sent
    this.#beganMs = this.#clock.now()
    this.#connections += 1
    this.#request = 'none'
    const fromMs = this.#msAt(this.#base, 'start')
    for (const results of this.#channels) results.begin(fromMs)
    return { ...rewound, isRepeated }
  }

  /** The event to emit, with the times of the source; undefined if it only repeats earlier events. */
  read(event: SessionEvent): SessionEvent | undefined {
    switch (event.type) {
      case 'partial':
        return this.#resultsOf(event).partial(this.#placed(event))
      case 'milestone':
        return this.#milestone(this.#placed(event))
      case 'final':
        return this.#final(this.#placed(event))
      case 'event':
        return event.name === eventName.silence || event.name === eventName.noMatch
          ? this.#silence(this.#timed(event))
          : this.#nodeEvent(this.#timed(event))
      default:
        return event
    }
  }

  /** A final that ends a connection but not the session: emits only its text beyond the milestones. */
  continueAfter(event: FinalEvent): SessionEvent | undefined {
    const added = this.#resultsOf(event).milestoneOf(this.#placed(event))
    return added && this.#milestone(added)
  }

  #milestone(event: MilestoneEvent): MilestoneEvent | undefined {
    const results = this.#resultsOf(event)
    const milestone = results.milestone(event, this.#sentMs, this.#readMs)
    if (event.endMs === undefined) this.#isEstimated = true
    this.#settle(results, event.endMs ?? results.estimateMs)
    return milestone
  }

  #final(event: FinalEvent): FinalEvent {
    const results = this.#resultsOf(event)
    const final = results.final(event, this.#sentMs, this.#readMs)
    if (event.error !== undefined) return final
    const endMs = event.heardMs ?? event.endMs
    if (endMs !== undefined) this.#settle(results, endMs)
    // A requested final covers all audio that was sent, which is settled at the end.
    else if (this.#request === 'none' || this.#mayCross(results)) {
      this.#isEstimated = true
      const baseMs = this.#msAt(this.#base, 'start')
      const readMs = Math.max(0, Math.min(this.#sentMs, this.#readMs) - baseMs)
      this.#settle(results, baseMs + readMs - Math.min(unreadAtFinalMs, readMs / 2))
    }
    return final
  }

  /** How much of the source was sent. */
  get #sentMs(): number {
    return this.#msAt(this.#buffer.sent, 'end')
  }

  /** The position up to which the service can have read according to the clock; sending faster does not advance it. */
  get #readMs(): number {
    return this.#msAt(this.#base, 'start') + (this.#clock.now() - this.#beganMs) * minReadSpeed
  }

  /** A channel was silent, or nothing matched: all audio before its end has its results, and is not sent again. */
  #silence(event: NodeEvent): NodeEvent | undefined {
    const { channel, startMs, endMs } = event
    const results = this.#channels[channel]
    const isInSent = startMs >= 0 && endMs > startMs && endMs <= Math.ceil(this.#sentMs)
    if (results === undefined || !isInSent) return this.#nodeEvent(event)
    this.#settle(results, endMs)
    return results.silence(event)
  }

  #settle(results: ChannelResults, settledMs: number): void {
    const index = this.#channels.indexOf(results)
    const settled = Math.min(this.#positionOf(settledMs), this.#buffer.sent)
    this.#settled[index] = Math.max(this.#settled[index] ?? 0, settled)
    this.#buffer.settle(Math.min(...this.#settled))
    // Also while one channel has no result: the audio that is kept is bounded.
    const fromMs = this.#msAt(this.#buffer.replayFrom, 'start')
    for (const each of this.#channels) each.forget(fromMs)
  }

  #nodeEvent(event: NodeEvent): NodeEvent | undefined {
    const isRepeated =
      this.#connections > 1 &&
      event.startMs >= 0 &&
      event.startMs <= this.#msAt(this.#repeatedTo, 'end') &&
      this.#remembered.some(
        ({ name, channel, startMs }) =>
          name === event.name && channel === event.channel && Math.abs(startMs - event.startMs) <= sameMs,
      )
    if (isRepeated) return undefined
    if (event.startMs >= 0) {
      this.#remembered.push(event)
      if (this.#remembered.length > maxRemembered) this.#remembered.shift()
    }
    return event
  }

  #resultsOf({ channel = 0 }: Pick<Result, 'channel'>): ChannelResults {
    return this.#channels[channel] ?? this.#channels[0]
  }

  /** With the times of the source; unchanged while both times are equal. */
  #timed<Item extends Timed>(item: Item): Item {
    if (this.#base === 0 && this.#buffer.timeline.isStraight) return item
    const { startMs, endMs, words, heardMs }: Timed = item
    return {
      ...item,
      ...(startMs === undefined || startMs < 0 ? {} : { startMs: this.#sourceMs(startMs, 'start') }),
      ...(endMs === undefined || endMs < 0 ? {} : { endMs: this.#sourceMs(endMs, 'end') }),
      ...(heardMs === undefined ? {} : { heardMs: this.#sourceMs(heardMs, 'end') }),
      ...(words === undefined ? {} : { words: words.map((word) => this.#timed(word)) }),
    }
  }

  /**
   * With the times of the source. A service may round or miscount: no end lies after the audio that was sent, and no
   * start after the end.
   */
  #placed<Event extends Result>(event: Event): Event {
    const timed = this.#timed(event)
    const { startMs = 0, endMs } = timed
    if (endMs === undefined) return timed
    const toMs = Math.min(endMs, Math.ceil(this.#sentMs))
    if (endMs === toMs && startMs <= toMs) return timed
    return { ...timed, endMs: toMs, ...(timed.startMs !== undefined && { startMs: Math.min(startMs, toMs) }) }
  }

  #sourceMs(ms: number, edge: 'start' | 'end'): number {
    return Math.round(this.#msAt(this.#base + bytesForMs(this.#format, ms), edge))
  }

  #msAt(position: number, edge: 'start' | 'end'): number {
    const { timeline } = this.#buffer
    return msForBytes(this.#format, edge === 'start' ? timeline.startOf(position) : timeline.endOf(position))
  }

  /**
   * The position in the kept audio of a time of the source. Times are whole milliseconds, so the last one that was sent
   * counts as a whole.
   */
  #positionOf(sourceMs: number): number {
    const { sent, timeline } = this.#buffer
    const position = timeline.positionOf(bytesForMs(this.#format, sourceMs))
    return position < sent && sent - position < bytesForMs(this.#format, 1) ? sent : position
  }
}
