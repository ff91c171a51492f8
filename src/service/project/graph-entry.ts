import { Subscription, type Observable } from 'rxjs'
import { bytesForMs, bytesPerFrame, msForBytes, type AudioFormat } from '../../audio/format.js'
import type { NodeItem } from '../nodes/core/node.js'
import { IdleMonitor } from '../recognition/idle-monitor.js'
import { EntryGate } from './entry-gate.js'
import type { GraphSession } from './graph-session.js'

export interface EntryListener {
  /** Whether audio may go on at once: nobody is at work, and no wire is full. */
  readonly mayPass: () => boolean
  readonly isHeldBack: () => boolean
  readonly pass: (item: NodeItem) => void
  /** Something waits to be let in, or the audio has ended. */
  readonly changed: () => void
  readonly failed: (error: unknown) => void
}

/** The longest piece of audio that goes through the graph at a time, in milliseconds. */
const pieceMs = 250

/**
 * Where the session's audio comes in: it waits at the gate until it is let in, and ends when the client says so or when
 * none has come for too long.
 */
export class GraphEntry {
  readonly #format: AudioFormat
  readonly #listener: EntryListener
  readonly #gate: EntryGate
  readonly #idle: IdleMonitor
  readonly #owned = new Subscription()
  #state: 'open' | 'finished' | 'closed' = 'open'

  constructor({ format, limits, context }: GraphSession, listener: EntryListener) {
    this.#format = format
    this.#listener = listener
    this.#gate = new EntryGate(Math.max(bytesPerFrame(format), bytesForMs(format, pieceMs)))
    const rules = { closeAfterSilentWallMs: 0, finalizeAfterMs: limits.idleMs, isPaused: listener.isHeldBack }
    this.#idle = new IdleMonitor(rules, context.scheduler)
  }

  start(audio$: Observable<Uint8Array>): void {
    this.#owned.add(
      this.#idle.ticks$.subscribe(() => {
        if (this.#idle.due === 'finalize') this.finish()
      }),
    )
    this.#owned.add(
      audio$.subscribe({
        next: (bytes) => {
          this.#audio(bytes)
        },
        complete: () => {
          this.finish()
        },
        error: this.#listener.failed,
      }),
    )
  }

  /** A node has dealt with something: it is not the client who is silent. */
  touch(): void {
    this.#idle.touch()
  }

  get isEmpty(): boolean {
    return this.#gate.isEmpty
  }

  /** The next piece that waits. */
  shift(): NodeItem | undefined {
    return this.#gate.shift()
  }

  /** No more audio is taken; what waits goes in yet. */
  finish(): void {
    if (this.#state !== 'open') return
    this.#state = 'finished'
    this.#listener.changed()
  }

  /** Whether the audio has ended and nobody was told so. */
  takeEnd(): boolean {
    if (this.#state !== 'finished') return false
    this.#state = 'closed'
    return true
  }

  /** Neither more audio nor what waits goes in. */
  close(): void {
    this.#state = 'closed'
    this.#gate.clear()
  }

  /** Lets go of the audio and of the clock. */
  release(): void {
    this.#owned.unsubscribe()
  }

  #audio(bytes: Uint8Array): void {
    if (this.#state !== 'open') return
    this.#idle.receive(msForBytes(this.#format, bytes.length))
    const item: NodeItem = { type: 'audio', bytes }
    if (this.#listener.mayPass() && this.#gate.lets(item)) this.#listener.pass(item)
    else this.#gate.push(item)
    this.#listener.changed()
  }
}
