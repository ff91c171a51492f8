import { asyncScheduler, type Observable, type SchedulerLike, Subject, type Subscription } from 'rxjs'
import type { ListenState } from './status-line.js'
import { talkButton } from './talk-button.js'

export interface ListenerOptions {
  readonly isPushToTalk: boolean
  /** The clock of the space bar. @default asyncScheduler */
  readonly scheduler?: SchedulerLike
}

/** Whether the microphone is heard, and until when. While it is not, silence takes its place. */
export class Listener {
  readonly #finalize$ = new Subject<void>()
  /** Ends the audio. */
  readonly finalize$: Observable<void> = this.#finalize$.asObservable()
  readonly #press$ = new Subject<void>()
  readonly #talking: Subscription | undefined
  #isTalking: boolean
  #isMuted = false
  #phase: 'starting' | 'open' | 'finishing' = 'starting'
  #peak = 0
  #zeroPieces = 0
  #silence = new Uint8Array(0)

  constructor({ isPushToTalk, scheduler = asyncScheduler }: ListenerOptions) {
    this.#isTalking = !isPushToTalk
    this.#talking = isPushToTalk
      ? talkButton(this.#press$, scheduler).subscribe((isOn) => {
          this.#isTalking = isOn
        })
      : undefined
  }

  get state(): ListenState {
    if (this.#phase !== 'open') return this.#phase
    return this.#isMuted ? 'muted' : this.#isTalking ? 'listening' : 'paused'
  }

  /** The service has accepted the connection. */
  begin(): void {
    if (this.#phase === 'starting') this.#phase = 'open'
  }

  /** Ends the audio, so that the last words arrive. Returns false if there is no session yet. */
  finish(): boolean {
    if (!this.#finalize$.observed) return false
    this.#phase = 'finishing'
    this.#finalize$.next()
    return true
  }

  /** The space bar. */
  pressSpace(): void {
    if (this.#talking === undefined) this.toggleMute()
    else this.#press$.next()
  }

  toggleMute(): void {
    this.#isMuted = !this.#isMuted
  }

  /** The audio, or as much silence while it is not heard. */
  gate(bytes: Uint8Array): Uint8Array {
    if (this.state !== 'muted' && this.state !== 'paused') return bytes
    if (this.#silence.length < bytes.length) this.#silence = new Uint8Array(bytes.length)
    return this.#silence.subarray(0, bytes.length)
  }

  /** Takes the loudest sample of a piece of audio. Returns true once, if the first `pieces` have nothing but zeros. */
  hear(peak: number, pieces: number): boolean {
    this.#peak = Math.max(this.#peak, peak)
    this.#zeroPieces = peak === 0 ? this.#zeroPieces + 1 : Infinity
    return this.#zeroPieces === pieces
  }

  /** The loudest sample since the last call. */
  takePeak(): number {
    const peak = this.#peak
    this.#peak = 0
    return peak
  }

  end(): void {
    this.#talking?.unsubscribe()
  }
}
