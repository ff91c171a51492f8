import type { SchedulerLike } from 'rxjs'
import { bytesForMs, msForBytes, type AudioFormat } from '../../audio/format.js'
import { anySound, loudSound } from '../../audio/silence.js'
import { eventName } from '../../protocol/dataflow-events.js'
import type { FinalEvent, MilestoneEvent, NodeEvent, PartialEvent, SessionEvent } from '../../protocol/session-event.js'
import type { ReplayBuffer } from '../audio/replay-buffer.js'
import { ChannelResults, unreadAtFinalMs } from './channel-results.js'

type Result = PartialEvent | MilestoneEvent | FinalEvent

/** So many events of nodes are remembered, to know them again when their audio is read once more. */
const maxRemembered = 256

/** Two readings of the same audio may put an event this far apart, in milliseconds. */
const sameMs = 100

/**
 * How many times as fast as speech a service reads what waits for it, at least: the pace that it allows (PROTOCOL 8). Were it not faster than speech, what a session without times holds would grow with each lost connection.
 */
const leastSpeed = 1.25

/** How much sound may follow the end of a final that has no more to say: the rest of a word, in milliseconds. */
const afterFinalMs = 500

/**
 * One timeline of results over all connections of a session. A connection counts time from the first sample that was
 * sent on it; here it counts from the source's first byte, over what was dropped, and nothing is told twice. What has a
 * milestone is settled in the buffer: it needs no replay.
 */
export class ResultTimeline {
  readonly #buffer: ReplayBuffer
  readonly #format: AudioFormat
  readonly #clock: Pick<SchedulerLike, 'now'>
  readonly #channels: readonly ChannelResults[]
  readonly #settled: number[]
  /** Where this connection's audio begins, in what was kept. */
  #base = 0
  #beganMs = 0
  #connections = 0
  #isEstimated = false
  /** Whether the end of the audio was said on this connection. */
  #isAsked = false
  /** How far the audio had been sent before this connection. */
  #repeatedTo = 0
  #remembered: NodeEvent[] = []

  constructor(buffer: ReplayBuffer, format: AudioFormat, clock: Pick<SchedulerLike, 'now'>) {
    this.#buffer = buffer
    this.#format = format
    this.#clock = clock
    this.#channels = Array.from({ length: format.channels }, () => new ChannelResults())
    this.#settled = this.#channels.map(() => 0)
  }

  /** Whether a milestone came without times, so that what is settled is an estimate, on the safe side. */
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

  /** Whether every channel has answered the end of the audio with a final. */
  get isAnswered(): boolean {
    return this.#isAsked && this.#channels.every(({ isAnswered }) => isAnswered)
  }

  /** Whether this connection has ended with a final what it had begun to recognize. */
  get isWhole(): boolean {
    return !this.#channels.some(({ isOpen }) => isOpen)
  }

  /**
   * Whether the service had ended a channel by itself before the end of the audio that it was told of, and something is to
   * be heard behind that. It had where its final came before; else its final says how far it has read, or ends well
   * before sound that is loud.
   */
  get isUnread(): boolean {
    return this.#channels.some((results, channel) => {
      if (results.isFinal && !results.isAnswered)
        return this.#buffer.hasSoundFrom(this.#settled[channel] ?? 0, anySound, channel)
      const { heardMs, endMs } = results.answered
      if (heardMs !== undefined) return this.#buffer.hasSoundFrom(this.#positionOf(heardMs), anySound, channel)
      if (endMs === undefined) return false
      return this.#buffer.hasSoundFrom(this.#positionOf(endMs + afterFinalMs), loudSound, channel)
    })
  }

  /** How much audio has become definitive on this connection, in milliseconds. */
  get progressMs(): number {
    return msForBytes(this.#format, this.#buffer.definitive - this.#base)
  }

  /** The end of the audio is said: what is told from now on is its answer. */
  ask(): void {
    this.#isAsked = true
    for (const results of this.#channels) results.ask()
  }

  /** Whether a final only repeats the one before it on its channel. */
  isRepeated(event: FinalEvent): boolean {
    return this.#resultsOf(event).isFinal
  }

  /** A final came that repeats the one before it: it answers all the same. */
  repeat(event: FinalEvent): void {
    this.#resultsOf(event).answer()
  }

  /** A final with an error came: whether it is told, how the connection ends decides. */
  hold(event: FinalEvent): void {
    this.#resultsOf(event).end()
  }

  /** Another connection begins, and its audio with the first sample that has no definitive result. */
  begin(): ReturnType<ReplayBuffer['rewind']> {
    this.#repeatedTo = Math.max(this.#repeatedTo, this.#buffer.sent)
    const rewound = this.#buffer.rewind()
    this.#base = this.#buffer.sent
    this.#beganMs = this.#clock.now()
    this.#connections += 1
    this.#isAsked = false
    const fromMs = this.#msAt(this.#base, 'start')
    for (const results of this.#channels) results.begin(fromMs)
    return rewound
  }

  /** What is to be told of an event: with the source's times; undefined for what only repeats what was told. */
  read(event: SessionEvent): SessionEvent | undefined {
    switch (event.type) {
      case 'partial':
        return this.#resultsOf(event).partial(this.#withinSent(this.#timed(event)))
      case 'milestone':
        return this.#milestone(this.#withinSent(this.#timed(event)))
      case 'final':
        return this.#final(this.#withinSent(this.#timed(event)))
      case 'event':
        return event.name === eventName.silence
          ? this.#silence(this.#timed(event))
          : this.#nodeEvent(this.#timed(event))
      default:
        return event
    }
  }

  /** A final that ends a connection but not the session: only what it adds to the milestones counts. */
  continueAfter(event: FinalEvent): SessionEvent | undefined {
    const added = this.#resultsOf(event).milestoneOf(this.#withinSent(this.#timed(event)))
    return added && this.#milestone(added)
  }

  #milestone(event: MilestoneEvent): MilestoneEvent | undefined {
    const results = this.#resultsOf(event)
    const told = results.milestone(event, this.#msAt(this.#buffer.sent, 'end'), this.#readMs)
    if (event.endMs === undefined) this.#isEstimated = true
    const index = this.#channels.indexOf(results)
    this.#settle(index, event.endMs ?? results.estimateMs)
    return told
  }

  #final(event: FinalEvent): FinalEvent {
    const results = this.#resultsOf(event)
    const sentMs = this.#msAt(this.#buffer.sent, 'end')
    const told = results.final(event, sentMs, this.#readMs)
    if (event.error !== undefined) return told
    const endMs = event.heardMs ?? event.endMs
    if (endMs !== undefined) this.#settle(this.#channels.indexOf(results), endMs)
    // One that was asked for is the answer to all that was sent, which is settled at the end.
    else if (!this.#isAsked) {
      this.#isEstimated = true
      const baseMs = this.#msAt(this.#base, 'start')
      const heardMs = Math.max(0, Math.min(sentMs, this.#readMs) - baseMs)
      this.#settle(this.#channels.indexOf(results), baseMs + heardMs - Math.min(unreadAtFinalMs, heardMs / 2))
    }
    return told
  }

  /** How far the service can have read, by the clock: audio that was sent faster is not taken for heard any sooner. */
  get #readMs(): number {
    return this.#msAt(this.#base, 'start') + (this.#clock.now() - this.#beganMs) * leastSpeed
  }

  /** Nobody spoke on the channel, and all before its end has its results: the audio needs no replay. */
  #silence(event: NodeEvent): NodeEvent | undefined {
    const { channel, startMs, endMs } = event
    const results = this.#channels[channel]
    const isHeard = startMs >= 0 && endMs > startMs && endMs <= Math.ceil(this.#msAt(this.#buffer.sent, 'end'))
    if (results === undefined || !isHeard) return this.#nodeEvent(event)
    this.#settle(channel, endMs)
    return results.silence(event)
  }

  #settle(index: number, settledMs: number): void {
    const settled = Math.min(this.#positionOf(settledMs), this.#buffer.sent)
    this.#settled[index] = Math.max(this.#settled[index] ?? 0, settled)
    this.#buffer.settle(Math.min(...this.#settled))
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
    const results = this.#channels[channel] ?? this.#channels[0]
    if (results === undefined) throw new RangeError('A session has a channel.')
    return results
  }

  /** The event as it is while the connection's time is the source's. */
  #timed<Event extends Result | NodeEvent>(event: Event): Event {
    if (this.#base === 0 && this.#buffer.timeline.isStraight) return event
    const { startMs, endMs } = event
    const words = 'words' in event ? event.words : undefined
    const heardMs = 'heardMs' in event ? event.heardMs : undefined
    return {
      ...event,
      ...(startMs === undefined || startMs < 0 ? {} : { startMs: this.#sourceMs(startMs, 'start') }),
      ...(endMs === undefined || endMs < 0 ? {} : { endMs: this.#sourceMs(endMs, 'end') }),
      ...(heardMs === undefined ? {} : { heardMs: this.#sourceMs(heardMs, 'end') }),
      ...(words === undefined
        ? {}
        : {
            words: words.map((word) => ({
              ...word,
              startMs: this.#sourceMs(word.startMs, 'start'),
              endMs: this.#sourceMs(word.endMs, 'end'),
            })),
          }),
    }
  }

  /** No result is of audio that was not sent; a service may round its times, or count them wrongly. */
  #withinSent<Event extends Result>(event: Event): Event {
    const { startMs, endMs } = event
    const sentMs = Math.ceil(this.#msAt(this.#buffer.sent, 'end'))
    if (endMs === undefined || endMs <= sentMs) return event
    return { ...event, endMs: sentMs, ...(startMs !== undefined && { startMs: Math.min(startMs, sentMs) }) }
  }

  #sourceMs(ms: number, edge: 'start' | 'end'): number {
    return Math.round(this.#msAt(this.#base + bytesForMs(this.#format, ms), edge))
  }

  #msAt(position: number, edge: 'start' | 'end'): number {
    const { timeline } = this.#buffer
    return msForBytes(this.#format, edge === 'start' ? timeline.startOf(position) : timeline.endOf(position))
  }

  /** Of a time of the source, in what was kept. Services tell whole milliseconds, so the rest of one that was sent belongs to it. */
  #positionOf(sourceMs: number): number {
    const { sent, timeline } = this.#buffer
    const position = timeline.positionOf(bytesForMs(this.#format, sourceMs))
    return position < sent && sent - position < bytesForMs(this.#format, 1) ? sent : position
  }
}
