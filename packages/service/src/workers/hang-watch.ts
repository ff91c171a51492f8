import { asyncScheduler, type SchedulerLike, type Unsubscribable } from 'rxjs'
import { schedule } from 'rxspeech/internal/kernel/timers'

/** How often a worker is asked whether its event loop runs, and after how many questions without an answer it hangs. */
const aliveEveryMs = 2_000
const maxUnanswered = 5
/** How long a worker may take until it serves sessions; large models take a minute on a slow disk. */
const maxStartMs = 180_000

/**
 * Kills a worker that hangs, so that it ends and is started again. Counts questions and not time, which passes also
 * while the whole machine sleeps.
 */
export class HangWatch {
  readonly #ask: () => Promise<unknown>
  readonly #kill: (why: string) => void
  readonly #scheduler: SchedulerLike
  #timer: Unsubscribable
  #unanswered = 0

  /**
   * @param ask resolves when the event loop of the worker runs
   * @param kill called once
   */
  constructor(ask: () => Promise<unknown>, kill: (why: string) => void, scheduler: SchedulerLike = asyncScheduler) {
    this.#ask = ask
    this.#kill = kill
    this.#scheduler = scheduler
    this.#timer = schedule(scheduler, maxStartMs, () => kill(`it did not start within ${maxStartMs / 1000} s`))
  }

  /** Whether it seems to hang, so that other workers are preferred. */
  get isLate(): boolean {
    return this.#unanswered > 1
  }

  /** The worker serves sessions. */
  opened(): void {
    this.#timer.unsubscribe()
    this.#wait()
  }

  stop(): void {
    this.#timer.unsubscribe()
  }

  #wait(): void {
    this.#timer = schedule(this.#scheduler, aliveEveryMs, () => this.#check())
  }

  #check(): void {
    if (this.#unanswered >= maxUnanswered) {
      this.#kill(`it did not answer for ${(maxUnanswered * aliveEveryMs) / 1000} s`)
      return
    }
    this.#unanswered += 1
    const onAnswer = (): void => {
      this.#unanswered = 0
    }
    // Rejected when the process ends, which is handled.
    this.#ask().then(onAnswer, () => undefined)
    this.#wait()
  }
}
