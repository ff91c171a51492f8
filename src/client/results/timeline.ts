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
 * How many times as fast as speech a service reads what waits for it, at least: the pace that it allows (decisions.md:
 * limits). Were it not faster than speech, what a session without times holds would grow with each lost connection.
 */
const leastSpeed = 1.25

/** How much sound may follow the end of a final that has no more to say: the rest of a word, in milliseconds. */
const afterFinalMs = 500

/**
 * One timeline of results over all connections of a session. A connection counts time from the first sample that was
 * sent on it; here it counts from the source's first byte, over what was dropped, and nothing is told twice. What has a
 * milestone is settled on the tape: it needs no replay.
 */
export class ResultTimeline {
  readonly #tape: ReplayBuffer
  readonly #format: AudioFormat
  readonly #clock: Pick<SchedulerLike, 'now'>
  readonly #lanes: readonly ChannelResults[]
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

  constructor(tape: ReplayBuffer, format: AudioFormat, clock: Pick<SchedulerLike, 'now'>) {
    this.#tape = tape
    this.#format = format
    this.#clock = clock
    this.#lanes = Array.from({ length: format.channels }, () => new ChannelResults())
    this.#settled = this.#lanes.map(() => 0)
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
    return this.#tape.sent > this.#base
  }

  /** Whether every channel has its final, and nothing after it. */
  get isFinal(): boolean {
    return this.#lanes.every(({ isFinal }) => isFinal)
  }

  /** Whether every channel has answered the end of the audio with a final. */
  get isAnswered(): boolean {
    return this.#isAsked && this.#lanes.every(({ isAnswered }) => isAnswered)
  }

  /** Whether this connection has ended with a final what it had begun to recognize. */
  get isWhole(): boolean {
    return !this.#lanes.some(({ isOpen }) => isOpen)
  }

  /**
   * Whether the service had ended a channel by itself before the end of the audio that it was told of, and something is to
   * be heard behind that. It had where its final came before; else its final says how far it has read, or ends well
   * before sound that is loud.
   */
  get isUnread(): boolean {
    return this.#lanes.some((lane, channel) => {
      if (lane.isFinal && !lane.isAnswered)
        return this.#tape.hasSoundFrom(this.#settled[channel] ?? 0, anySound, channel)
      const { heardMs, endMs } = lane.answered
      if (heardMs !== undefined) return this.#tape.hasSoundFrom(this.#positionOf(heardMs), anySound, channel)
      if (endMs === undefined) return false
      return this.#tape.hasSoundFrom(this.#positionOf(endMs + afterFinalMs), loudSound, channel)
    })
  }

  /** How much audio has become definitive on this connection, in milliseconds. */
  get progressMs(): number {
    return msForBytes(this.#format, this.#tape.definitive - this.#base)
  }

  /** The end of the audio is said: what is told from now on is its answer. */
  ask(): void {
    this.#isAsked = true
    for (const lane of this.#lanes) lane.ask()
  }

  /** Whether a final only repeats the one before it on its channel. */
  isRepeated(event: FinalEvent): boolean {
    return this.#lane(event).isFinal
  }

  /** A final came that repeats the one before it: it answers all the same. */
  repeat(event: FinalEvent): void {
    this.#lane(event).answer()
  }

  /** A final with an error came: whether it is told, how the connection ends decides. */
  hold(event: FinalEvent): void {
    this.#lane(event).end()
  }

  /** Another connection begins, and its audio with the first sample that has no definitive result. */
  begin(): ReturnType<ReplayBuffer['rewind']> {
    this.#repeatedTo = Math.max(this.#repeatedTo, this.#tape.sent)
    const rewound = this.#tape.rewind()
    this.#base = this.#tape.sent
    this.#beganMs = this.#clock.now()
    this.#connections += 1
    this.#isAsked = false
    const fromMs = this.#msAt(this.#base, 'start')
    for (const lane of this.#lanes) lane.begin(fromMs)
    return rewound
  }

  /** What is to be told of an event: with the source's times; undefined for what only repeats what was told. */
  read(event: SessionEvent): SessionEvent | undefined {
    switch (event.type) {
      case 'partial':
        return this.#lane(event).partial(this.#withinSent(this.#timed(event)))
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
    const added = this.#lane(event).milestoneOf(this.#withinSent(this.#timed(event)))
    return added && this.#milestone(added)
  }

  #milestone(event: MilestoneEvent): MilestoneEvent | undefined {
    const lane = this.#lane(event)
    const told = lane.milestone(event, this.#msAt(this.#tape.sent, 'end'), this.#readMs)
    if (event.endMs === undefined) this.#isEstimated = true
    const index = this.#lanes.indexOf(lane)
    this.#settle(index, event.endMs ?? lane.estimateMs)
    return told
  }

  #final(event: FinalEvent): FinalEvent {
    const lane = this.#lane(event)
    const sentMs = this.#msAt(this.#tape.sent, 'end')
    const told = lane.final(event, sentMs, this.#readMs)
    if (event.error !== undefined) return told
    const endMs = event.heardMs ?? event.endMs
    if (endMs !== undefined) this.#settle(this.#lanes.indexOf(lane), endMs)
    // One that was asked for is the answer to all that was sent, which is settled at the end.
    else if (!this.#isAsked) {
      this.#isEstimated = true
      const baseMs = this.#msAt(this.#base, 'start')
      const heardMs = Math.max(0, Math.min(sentMs, this.#readMs) - baseMs)
      this.#settle(this.#lanes.indexOf(lane), baseMs + heardMs - Math.min(unreadAtFinalMs, heardMs / 2))
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
    const lane = this.#lanes[channel]
    const isHeard = startMs >= 0 && endMs > startMs && endMs <= Math.ceil(this.#msAt(this.#tape.sent, 'end'))
    if (lane === undefined || !isHeard) return this.#nodeEvent(event)
    this.#settle(channel, endMs)
    return lane.silence(event)
  }

  #settle(index: number, settledMs: number): void {
    const settled = Math.min(this.#positionOf(settledMs), this.#tape.sent)
    this.#settled[index] = Math.max(this.#settled[index] ?? 0, settled)
    this.#tape.settle(Math.min(...this.#settled))
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

  #lane({ channel = 0 }: Pick<Result, 'channel'>): ChannelResults {
    const lane = this.#lanes[channel] ?? this.#lanes[0]
    if (lane === undefined) throw new RangeError('A session has a channel.')
    return lane
  }

  /** The event as it is while the connection's time is the source's. */
  #timed<Event extends Result | NodeEvent>(event: Event): Event {
    if (this.#base === 0 && this.#tape.timeline.isStraight) return event
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
    const sentMs = Math.ceil(this.#msAt(this.#tape.sent, 'end'))
    if (endMs === undefined || endMs <= sentMs) return event
    return { ...event, endMs: sentMs, ...(startMs !== undefined && { startMs: Math.min(startMs, sentMs) }) }
  }

  #sourceMs(ms: number, edge: 'start' | 'end'): number {
    return Math.round(this.#msAt(this.#base + bytesForMs(this.#format, ms), edge))
  }

  #msAt(position: number, edge: 'start' | 'end'): number {
    const { timeline } = this.#tape
    return msForBytes(this.#format, edge === 'start' ? timeline.startOf(position) : timeline.endOf(position))
  }

  /** Of a time of the source, in what was kept. Services tell whole milliseconds, so the rest of one that was sent belongs to it. */
  #positionOf(sourceMs: number): number {
    const { sent, timeline } = this.#tape
    const position = timeline.positionOf(bytesForMs(this.#format, sourceMs))
    return position < sent && sent - position < bytesForMs(this.#format, 1) ? sent : position
  }
}
