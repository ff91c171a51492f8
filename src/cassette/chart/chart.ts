import { eventName } from '../../protocol/event-name.js'
import type { SessionEvent } from '../../protocol/session-event.js'

/** A session as rows over one time axis; `drawText` and `drawSvg` draw it. */
export interface Chart {
  /** A short description of the session. */
  readonly title: string
  /** The length of the axis, in milliseconds from the beginning of the session. */
  readonly durationMs: number
  readonly rows: readonly ChartRow[]
}

const rowKinds = ['connection', 'control', 'audio', 'speech', 'partials', 'milestones', 'finals', 'events'] as const
export type RowKind = (typeof rowKinds)[number]

export interface ChartRow {
  readonly kind: RowKind
  /** The kind, with a number if there are several rows of it. */
  readonly name: string
  readonly bars: readonly Bar[]
  readonly marbles: readonly Marble[]
  /** Milliseconds of audio over time; drawn as heights. */
  readonly audio: readonly AudioAmount[]
}

export interface Bar {
  readonly fromMs: number
  readonly toMs: number
  readonly label: string
  /** Whether the state is transient, such as a connection that is being dialled. */
  readonly isFaint?: boolean | undefined
}

export interface Marble {
  readonly atMs: number
  readonly label: string
  /** Which side caused it. */
  readonly from: 'client' | 'service' | 'neither'
  readonly isFault?: boolean | undefined
}

export interface AudioAmount {
  readonly atMs: number
  readonly audioMs: number
}

/** Converts a time of the audio to the time of the session at which that audio was sent. */
export type SentAt = (audioMs: number) => number

interface OpenRow {
  readonly kind: RowKind
  readonly suffix: string
  readonly bars: Bar[]
  readonly marbles: Marble[]
  readonly audio: AudioAmount[]
}

/** Every chart has these rows, even if they are empty; `events` only if there are any. */
const permanentKinds = rowKinds.filter((kind) => kind !== 'events')

/** Collects the rows of a chart. Results and speech have a row for each channel. */
export class ChartBuilder {
  readonly #rows = new Map<string, OpenRow>()
  /** When the speech that is under way began, by channel. */
  readonly #speechStart = new Map<number, number>()
  /** The times of the milestones, by channel. */
  readonly #milestones = new Map<number, Bar[]>()

  /** The row of a kind; one for each `suffix`, such as a channel. */
  row(kind: RowKind, suffix = ''): OpenRow {
    const key = `${kind} ${suffix}`
    const row = this.#rows.get(key) ?? { kind, suffix, bars: [], marbles: [], audio: [] }
    this.#rows.set(key, row)
    return row
  }

  /** @param channel overrides the channel of the event, for a connection that carries one channel */
  addEvent(atMs: number, event: SessionEvent, sentAt: SentAt, channel?: number): void {
    switch (event.type) {
      case 'partial':
      case 'milestone':
      case 'final': {
        const row = channel ?? event.channel ?? 0
        const isFault = event.type === 'final' && event.error !== undefined
        const label = isFault ? `${event.text} (${event.error})` : event.text
        this.row(`${event.type}s`, String(row)).marbles.push({ atMs, label, from: 'service', isFault })
        if (event.type === 'milestone') this.#addMilestone(row, event, sentAt)
        return
      }
      case 'response': {
        const label = `${event.request}: ${event.operationResult}`
        this.row('control').marbles.push({ atMs, label, from: 'service', isFault: !event.success })
        return
      }
      case 'event':
        return this.#addServiceEvent(atMs, event, sentAt)
      case 'audio':
        this.row('events').marbles.push({ atMs, label: `audio, ${event.bytes.length} bytes`, from: 'service' })
        return
      case 'unknown':
        this.row('events').marbles.push({ atMs, label: event.reason, from: 'service', isFault: true })
        return
      case 'connection':
      case 'resumed':
      case 'silent':
      case 'gap':
      case 'ledger':
      // The session emits these; no message contains them.
    }
  }

  /** The rows in the order of `rowKinds`, then by channel. */
  finish(durationMs: number): readonly ChartRow[] {
    for (const kind of permanentKinds) if (!this.#has(kind)) this.row(kind)
    this.#finishSpeech(durationMs)
    const rows = [...this.#rows.values()]
    return rowKinds.flatMap((kind) => {
      const ofKind = rows.filter((row) => row.kind === kind).sort((a, b) => a.suffix.localeCompare(b.suffix))
      return ofKind.map(({ suffix, ...row }) => ({ ...row, name: ofKind.length > 1 ? `${kind} ${suffix}` : kind }))
    })
  }

  #has(kind: RowKind): boolean {
    return [...this.#rows.values()].some((row) => row.kind === kind)
  }

  #addServiceEvent(atMs: number, event: Extract<SessionEvent, { readonly type: 'event' }>, sentAt: SentAt): void {
    const { name, startMs, endMs } = event
    const channel = Math.max(0, event.channel)
    if (name === eventName.speechStarted && startMs >= 0) this.#speechStart.set(channel, sentAt(startMs))
    else if (name === eventName.speechEnded && endMs >= 0) {
      const fromMs = this.#speechStart.get(channel) ?? sentAt(Math.max(0, startMs))
      this.#speechStart.delete(channel)
      this.row('speech', String(channel)).bars.push({ fromMs, toMs: Math.max(fromMs, sentAt(endMs)), label: 'speech' })
    } else this.row('events').marbles.push({ atMs, label: name, from: 'service' })
  }

  #addMilestone(
    channel: number,
    { startMs, endMs, text }: Extract<SessionEvent, { readonly type: 'milestone' }>,
    sentAt: SentAt,
  ): void {
    if (startMs === undefined || endMs === undefined) return
    const milestones = this.#milestones.get(channel) ?? []
    this.#milestones.set(channel, milestones)
    const fromMs = sentAt(startMs)
    milestones.push({ fromMs, toMs: Math.max(fromMs, sentAt(endMs)), label: text })
  }

  /** Ends the speech under way. A channel without speech events, as on the socket, shows its milestones instead. */
  #finishSpeech(durationMs: number): void {
    for (const [channel, fromMs] of this.#speechStart)
      this.row('speech', String(channel)).bars.push({ fromMs, toMs: Math.max(fromMs, durationMs), label: 'speech' })
    for (const [channel, milestones] of this.#milestones) {
      const { bars } = this.row('speech', String(channel))
      if (bars.length === 0) bars.push(...milestones)
    }
    const rows = [...this.#rows.entries()].filter(([, { kind }]) => kind === 'speech')
    for (const [key, { suffix }] of rows) if (rows.length > 1 && suffix === '') this.#rows.delete(key)
  }
}
