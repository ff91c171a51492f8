import { eventName } from '../protocol/dataflow-events.js'
import type { SessionEvent } from '../protocol/session-event.js'
import { laneKinds, type Bar, type Flow, type LaneKind, type Marble, type MarbleLane } from './marble-chart.js'

interface OpenLane {
  readonly kind: LaneKind
  readonly which: string
  readonly bars: Bar[]
  readonly marbles: Marble[]
  readonly flow: Flow[]
}

/** When the audio of a moment was sent, in milliseconds of the session. */
export type SentAt = (audioMs: number) => number

/** The lanes that a chart has be there something on them or not; that of other events is there where there are some. */
const constantKinds = laneKinds.filter((kind) => kind !== 'events')

/** Gathers what happened into lanes: results and speech by channel, connections by row. */
export class ChartLanes {
  readonly #lanes = new Map<string, OpenLane>()
  readonly #speaking = new Map<number, number>()
  readonly #spans = new Map<number, Bar[]>()

  /** A lane of its own for each `which`, such as a channel. */
  lane(kind: LaneKind, which = ''): OpenLane {
    const key = `${kind} ${which}`
    const lane = this.#lanes.get(key) ?? { kind, which, bars: [], marbles: [], flow: [] }
    this.#lanes.set(key, lane)
    return lane
  }

  /**
   * @param channel where the event does not say it itself
   * @param sentAt places what the event tells of the audio
   */
  add(atMs: number, event: SessionEvent, sentAt: SentAt, channel?: number): void {
    switch (event.type) {
      case 'partial':
      case 'milestone':
      case 'final': {
        const on = channel ?? event.channel ?? 0
        const isFault = event.type === 'final' && event.error !== undefined
        const label = isFault ? `${event.text} (${event.error})` : event.text
        this.lane(`${event.type}s`, String(on)).marbles.push({
          atMs,
          label,
          from: 'service',
          ...(isFault && { isFault }),
        })
        if (event.type === 'milestone') this.#span(on, event, sentAt)
        return
      }
      case 'response': {
        const label = `${event.request}: ${event.operationResult}`
        const isFault = !event.success
        this.lane('control').marbles.push({ atMs, label, from: 'service', ...(isFault && { isFault }) })
        return
      }
      case 'event':
        return this.#raise(atMs, event, sentAt)
      case 'audio':
        this.lane('events').marbles.push({ atMs, label: `audio, ${event.bytes.length} bytes`, from: 'service' })
        return
      case 'unknown':
        this.lane('events').marbles.push({ atMs, label: event.reason, from: 'service', isFault: true })
        return
      case 'connection':
      case 'ledger':
      // These are of the session, not of the wire.
    }
  }

  /** In the order of `laneKinds`, then by channel; the number of a lane stands in its name where there are several. */
  all(durationMs: number): readonly MarbleLane[] {
    for (const kind of constantKinds) if (!this.#has(kind)) this.lane(kind)
    this.#speech(durationMs)
    const lanes = [...this.#lanes.values()]
    return laneKinds.flatMap((kind) => {
      const ofKind = lanes
        .filter((lane) => lane.kind === kind)
        .sort((one, other) => one.which.localeCompare(other.which))
      return ofKind.map(({ which, ...lane }) => ({ ...lane, name: ofKind.length > 1 ? `${kind} ${which}` : kind }))
    })
  }

  #has(kind: LaneKind): boolean {
    return [...this.#lanes.values()].some((lane) => lane.kind === kind)
  }

  #raise(atMs: number, event: Extract<SessionEvent, { readonly type: 'event' }>, sentAt: SentAt): void {
    const { name, channel, startMs, endMs } = event
    const on = Math.max(0, channel)
    if (name === eventName.speechStarted && startMs >= 0) this.#speaking.set(on, sentAt(startMs))
    else if (name === eventName.speechEnded && endMs >= 0) {
      const fromMs = this.#speaking.get(on) ?? sentAt(Math.max(0, startMs))
      this.#speaking.delete(on)
      this.lane('speech', String(on)).bars.push({ fromMs, toMs: Math.max(fromMs, sentAt(endMs)), label: 'speech' })
    } else this.lane('events').marbles.push({ atMs, label: name, from: 'service' })
  }

  /** What a milestone says of when its words were spoken. */
  #span(channel: number, event: Extract<SessionEvent, { readonly type: 'milestone' }>, sentAt: SentAt): void {
    const { startMs, endMs, text } = event
    if (startMs === undefined || endMs === undefined) return
    const spans = this.#spans.get(channel) ?? []
    this.#spans.set(channel, spans)
    const fromMs = sentAt(startMs)
    spans.push({ fromMs, toMs: Math.max(fromMs, sentAt(endMs)), label: text })
  }

  /** The socket tells no speech, so there the milestones do; and what had begun when all ended has not ended itself. */
  #speech(durationMs: number): void {
    for (const [channel, fromMs] of this.#speaking)
      this.lane('speech', String(channel)).bars.push({ fromMs, toMs: Math.max(fromMs, durationMs), label: 'speech' })
    for (const [channel, spans] of this.#spans) {
      const { bars } = this.lane('speech', String(channel))
      if (bars.length === 0) bars.push(...spans)
    }
    const lanes = [...this.#lanes.entries()].filter(([, { kind }]) => kind === 'speech')
    for (const [key, { which }] of lanes) if (lanes.length > 1 && which === '') this.#lanes.delete(key)
  }
}
