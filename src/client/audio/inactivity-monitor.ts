import type { SchedulerLike, Unsubscribable } from 'rxjs'
import { schedule } from '../../kernel/timers.js'

/**
 * Notices that a service says nothing while audio flows. One timer, which audio starts and which does not follow it; it
 * rests while no audio flows, so a clock of virtual time comes to its end.
 */
export class InactivityMonitor {
  readonly #timeoutMs: number
  readonly #scheduler: SchedulerLike
  readonly #tell: (forMs: number) => void
  #timer: Unsubscribable | undefined
  #sinceMs = 0
  #flows = false
  #isTold = false

  constructor(timeoutMs: number, scheduler: SchedulerLike, tell: (forMs: number) => void) {
    this.#timeoutMs = timeoutMs
    this.#scheduler = scheduler
    this.#tell = tell
  }

  /** Audio goes out. */
  onAudio(): void {
    this.#flows = true
    if (this.#timer !== undefined) return
    this.#sinceMs = this.#scheduler.now()
    this.#wait(this.#timeoutMs)
  }

  /** The service has said something. */
  onActivity(): void {
    this.#sinceMs = this.#scheduler.now()
    this.#isTold = false
  }

  stop(): void {
    this.#timer?.unsubscribe()
    this.#timer = undefined
    this.#isTold = false
  }

  #wait(delayMs: number): void {
    this.#flows = false
    this.#timer = schedule(this.#scheduler, delayMs, () => this.#look())
  }

  #look(): void {
    const forMs = this.#scheduler.now() - this.#sinceMs
    if (!this.#flows) {
      this.#timer = undefined
      return
    }
    const isSilent = forMs >= this.#timeoutMs
    this.#wait(isSilent ? this.#timeoutMs : this.#timeoutMs - forMs)
    if (!isSilent || this.#isTold) return
    this.#isTold = true
    this.#tell(forMs)
  }
}
