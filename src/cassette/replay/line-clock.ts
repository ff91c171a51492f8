import type { SchedulerLike, Subscription } from 'rxjs'
import type { OpenLine } from '../format/cassette.js'

export interface PlaySpeed {
  /** A multiple of the recorded pace; `Infinity` does not wait. */
  readonly speed: number
  readonly scheduler: SchedulerLike
}

/** Tells when the lines of one connection are due, which is open from now on. */
export class LineClock {
  readonly #open: OpenLine
  readonly #settings: PlaySpeed
  readonly #onDue: () => void
  readonly #openedMs: number
  #timer: Subscription | undefined

  constructor(open: OpenLine, settings: PlaySpeed, onDue: () => void) {
    this.#open = open
    this.#settings = settings
    this.#onDue = onDue
    this.#openedMs = settings.scheduler.now()
  }

  /** Whether a line of this time is due; otherwise `onDue` is called when it is. */
  isDue(atMs: number): boolean {
    const { speed, scheduler } = this.#settings
    const waitMs = this.#openedMs + (atMs - this.#open.atMs) / speed - scheduler.now()
    if (waitMs <= 0) return true
    this.#timer ??= scheduler.schedule(() => {
      this.#timer = undefined
      this.#onDue()
    }, waitMs)
    return false
  }

  stop(): void {
    this.#timer?.unsubscribe()
  }
}
