import type { SchedulerLike, Unsubscribable } from 'rxjs'
import type { Inputs } from '../../kernel/machine.js'
import { schedule } from '../../kernel/timers.js'

/**
 * Reports that a service sends nothing while audio is sent to it. It has one timer, which the first audio starts and
 * later audio does not restart. The timer stops while no audio is sent, so that tests in virtual time end.
 */
export class InactivityMonitor {
  readonly #timeoutMs: number
  readonly #scheduler: SchedulerLike
  readonly #inputs: Inputs<{ readonly type: 'inactive'; readonly forMs: number }>
  #timer: Unsubscribable | undefined
  #sinceMs = 0
  #hasAudio = false
  #isReported = false

  constructor(
    timeoutMs: number,
    scheduler: SchedulerLike,
    inputs: Inputs<{ readonly type: 'inactive'; readonly forMs: number }>,
  ) {
    this.#timeoutMs = timeoutMs
    this.#scheduler = scheduler
    this.#inputs = inputs
  }

  /** Audio was sent. */
  onAudio(): void {
    this.#hasAudio = true
    if (this.#timer !== undefined) return
    this.#sinceMs = this.#scheduler.now()
    this.#wait(this.#timeoutMs)
  }

  /** The service has sent something. */
  onActivity(): void {
    this.#sinceMs = this.#scheduler.now()
    this.#isReported = false
  }

  stop(): void {
    this.#timer?.unsubscribe()
    this.#timer = undefined
    this.#isReported = false
  }

  #wait(delayMs: number): void {
    this.#hasAudio = false
    this.#timer = schedule(this.#scheduler, delayMs, () => this.#check())
  }

  #check(): void {
    const forMs = this.#scheduler.now() - this.#sinceMs
    if (!this.#hasAudio) {
      this.#timer = undefined
      return
    }
    const isSilent = forMs >= this.#timeoutMs
    this.#wait(isSilent ? this.#timeoutMs : this.#timeoutMs - forMs)
    if (!isSilent || this.#isReported) return
    this.#isReported = true
    this.#inputs.post({ type: 'inactive', forMs })
  }
}
