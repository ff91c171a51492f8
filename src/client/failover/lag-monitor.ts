import { defer, tap, type SchedulerLike } from 'rxjs'
import { msForBytes, type AudioFormat } from '../../audio/format.js'
import { eventName } from '../../protocol/event-name.js'
import type { SessionEvent } from '../../protocol/session-event.js'
import type { Opening } from '../connection.js'
import type { WireProtocol } from '../protocol.js'

/** The time between two marks, in milliseconds: how exactly the monitor knows when audio was sent. */
const markEveryMs = 100
/** A minute of marks. Audio before the oldest mark counts as sent with it, so a result may seem to be less late. */
const maxMarks = 600

/** The speed at which a service reads waiting audio at least, relative to real time (PROTOCOL 8). */
const readSpeed = 1.25

/** A congested link counts as lag, too: the service does not read. */
interface Congestible {
  readonly isCongested: boolean
}

/**
 * Measures how far the results of one connection lag behind its audio: the time from when audio was sent to when a
 * result covers it. Audio that was sent faster than services need to read, such as audio that is sent again, counts as
 * sent at that speed. Results without times are not measured.
 */
export class LagMonitor {
  readonly #format: AudioFormat
  readonly #clock: Pick<SchedulerLike, 'now'>
  readonly #marks: { readonly positionMs: number; readonly atMs: number }[] = []
  #link: Congestible | undefined
  #beganMs = 0
  #sentBytes = 0
  /** The position that results have reached, for each channel. */
  #coveredMs: number[] = []
  #congestedSinceMs: number | undefined
  #lagMs = 0
  /** Whether the service has reported speech that has no milestone yet. */
  isSpeechOpen = false

  constructor(format: AudioFormat, clock: Pick<SchedulerLike, 'now'>) {
    this.#format = format
    this.#clock = clock
  }

  /** The same connection, measured. */
  measure<In, Out>({ dial, protocol }: Opening<In, Out>): Opening<In, Out> {
    return {
      dial: () => defer(dial).pipe(tap((link) => (this.#link = link))),
      protocol: this.#measured(protocol),
    }
  }

  /** The lag of the latest result, or the time since the link became congested, whichever is longer. */
  get lagMs(): number {
    const nowMs = this.#clock.now()
    if (this.#link?.isCongested !== true) this.#congestedSinceMs = undefined
    else this.#congestedSinceMs ??= nowMs
    return Math.max(this.#lagMs, nowMs - (this.#congestedSinceMs ?? nowMs))
  }

  #measured<In, Out>(protocol: WireProtocol<In, Out>): WireProtocol<In, Out> {
    return {
      start: (token) => {
        this.#begin()
        return protocol.start(token)
      },
      audio: (bytes) => {
        this.#onAudio(bytes.length)
        return protocol.audio(bytes)
      },
      finalize: () => protocol.finalize(),
      stop: () => protocol.stop(),
      read: (message) => {
        const decoded = protocol.read(message)
        this.#onEvent(decoded.event)
        return decoded
      },
      text: (message) => protocol.text(message),
      ...(protocol.update && { update: protocol.update.bind(protocol) }),
    }
  }

  /** A recognition starts, which counts its own times. */
  #begin(): void {
    this.#marks.length = 0
    this.#sentBytes = 0
    this.#coveredMs = []
    this.#lagMs = 0
    this.isSpeechOpen = false
  }

  #onAudio(byteCount: number): void {
    const atMs = this.#clock.now()
    if (this.#sentBytes === 0) this.#beganMs = atMs
    this.#sentBytes += byteCount
    const last = this.#marks.at(-1)
    if (last !== undefined && atMs - last.atMs < markEveryMs) return
    this.#marks.push({ positionMs: msForBytes(this.#format, this.#sentBytes), atMs })
    if (this.#marks.length > maxMarks) this.#marks.shift()
  }

  #onEvent(event: SessionEvent): void {
    const isResult = event.type === 'partial' || event.type === 'milestone' || event.type === 'final'
    if (event.type === 'event') {
      if (event.name === eventName.speechStarted) this.isSpeechOpen = true
      if (event.name === eventName.speechEnded) this.isSpeechOpen = false
    }
    if (!isResult && !(event.type === 'event' && event.name === eventName.silence)) return
    this.isSpeechOpen = event.type === 'partial'
    const { channel = 0, endMs } = event
    if (endMs === undefined || endMs <= (this.#coveredMs[channel] ?? 0)) return
    this.#coveredMs[channel] = endMs
    const nowMs = this.#clock.now()
    const sentAtMs = this.#marks.find(({ positionMs }) => positionMs >= endMs)?.atMs ?? nowMs
    this.#lagMs = Math.max(0, nowMs - Math.max(sentAtMs, this.#beganMs + endMs / readSpeed))
  }
}
