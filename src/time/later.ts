import { asyncScheduler, type SchedulerLike, type Unsubscribable } from 'rxjs'
import { longestTimerMs } from './longest-timer.js'

/** Whether a process that has nothing else to do waits for a timer, or ends. */
export type Hold = 'holds the process' | 'lets the process end'

/**
 * Does something once, after `delayMs` (any length; Infinity for never), unless what is returned is unsubscribed before.
 * On the default scheduler the timer can let the process end, which RxJS' own cannot; another scheduler, such as one of
 * virtual time, is just asked.
 */
export const later = (scheduler: SchedulerLike, delayMs: number, act: () => void, hold: Hold): Unsubscribable =>
  delayMs === Infinity ? never : new Delay(scheduler, delayMs, act, hold)

const never: Unsubscribable = { unsubscribe: () => undefined }

/** One object and no more for one timer: every session has some. */
class Delay implements Unsubscribable {
  readonly #scheduler: SchedulerLike
  readonly #act: () => void
  readonly #hold: Hold
  #leftMs: number
  #timer: ReturnType<typeof setTimeout> | undefined
  #scheduled: Unsubscribable | undefined

  constructor(scheduler: SchedulerLike, delayMs: number, act: () => void, hold: Hold) {
    this.#scheduler = scheduler
    this.#act = act
    this.#hold = hold
    this.#leftMs = delayMs
    this.#wait()
  }

  unsubscribe(): void {
    clearTimeout(this.#timer)
    this.#scheduled?.unsubscribe()
  }

  #wait(): void {
    const stepMs = Math.min(this.#leftMs, longestTimerMs)
    this.#leftMs -= stepMs
    const onTime = (): void => {
      if (this.#leftMs > 0) this.#wait()
      else this.#act()
    }
    if (this.#scheduler !== asyncScheduler) {
      this.#scheduled = this.#scheduler.schedule(onTime, stepMs)
      return
    }
    this.#timer = setTimeout(onTime, stepMs)
    if (this.#hold === 'lets the process end') unref(this.#timer)
  }
}

/** A browser's timer is a number, and holds nothing. */
const unref = (timer: number | { readonly unref?: () => unknown }): void => {
  if (typeof timer === 'object') timer.unref?.()
}
