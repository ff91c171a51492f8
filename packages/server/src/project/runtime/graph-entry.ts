import { Subscription, type Observable } from 'rxjs'
import { type AudioFormat, bytesForMs, bytesPerFrame, msForBytes } from 'rxspeech/internal/audio/format'
import type { NodeItem } from '../../nodes/core/node.js'
import { IdleMonitor } from '../../recognition/idle-monitor.js'
import type { IncomingAudio } from '../../recognition/incoming-audio.js'
import type { GraphSession } from './graph-session.js'

export interface GraphEntryEvents {
  /** Whether a wire is full, so that audio waits at the entry. */
  readonly isPaused: () => boolean
  /** There is audio to shift, or the audio has ended. */
  readonly changed: () => void
  readonly failed: (error: unknown) => void
}

/** The longest piece of audio that passes through the graph as one item, in milliseconds. */
const maxPieceMs = 250

/**
 * The session's audio enters the graph here. It waits here while a wire is full; the amount is bounded by what the link
 * still delivers after it was paused. It ends when the client ends it or sends nothing for too long.
 */
export class GraphEntry {
  readonly #format: AudioFormat
  readonly #events: GraphEntryEvents
  /** Whole frames. Longer messages are split, so that a wire never receives much more at once than it can hold. */
  readonly #maxPieceBytes: number
  readonly #incoming: IncomingAudio | undefined
  readonly #idle: IdleMonitor
  readonly #subscriptions = new Subscription()
  #waiting: Uint8Array[] = []
  #state: 'open' | 'finished' | 'closed' = 'open'

  constructor({ format, limits, context, incoming }: GraphSession, events: GraphEntryEvents) {
    this.#format = format
    this.#events = events
    this.#incoming = incoming
    this.#maxPieceBytes = Math.max(bytesPerFrame(format), bytesForMs(format, maxPieceMs))
    const rules = { closeAfterSilentWallMs: 0, finalizeAfterMs: limits.idleMs, isPaused: events.isPaused, incoming }
    this.#idle = new IdleMonitor(rules, context.scheduler)
  }

  start(audio$: Observable<Uint8Array>): void {
    this.#idle.start(() => {
      if (this.#idle.due !== 'finalize') return
      this.#incoming?.flush()
      this.finish()
    })
    this.#subscriptions.add(() => this.#idle.stop())
    this.#subscriptions.add(
      audio$.subscribe({
        next: (bytes) => this.#receive(bytes),
        complete: () => this.finish(),
        error: this.#events.failed,
      }),
    )
  }

  /** A node made progress, so the client is not idle. */
  touch(): void {
    this.#idle.touch()
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  /** Takes the next piece of audio. */
  shift(): NodeItem | undefined {
    const [bytes] = this.#waiting
    if (bytes === undefined) return undefined
    if (bytes.length <= this.#maxPieceBytes) {
      this.#waiting.shift()
      return { type: 'audio', bytes }
    }
    this.#waiting[0] = bytes.subarray(this.#maxPieceBytes)
    return { type: 'audio', bytes: bytes.subarray(0, this.#maxPieceBytes) }
  }

  /** Accepts no more audio; waiting audio can still be shifted. */
  finish(): void {
    if (this.#state !== 'open') return
    this.#state = 'finished'
    this.#events.changed()
  }

  /** Whether the audio has ended since the last call. */
  takeEnd(): boolean {
    if (this.#state !== 'finished') return false
    this.#state = 'closed'
    return true
  }

  /** Accepts no more audio and discards waiting audio. */
  close(): void {
    this.#state = 'closed'
    this.#waiting = []
  }

  /** Unsubscribes from the audio and from the clock. */
  unsubscribe(): void {
    this.#subscriptions.unsubscribe()
  }

  #receive(bytes: Uint8Array): void {
    if (this.#state !== 'open') return
    this.#idle.receive(msForBytes(this.#format, bytes.length))
    this.#waiting.push(bytes)
    this.#events.changed()
  }
}
