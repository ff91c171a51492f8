import { asyncScheduler, Observable, type SchedulerLike, type Unsubscribable } from 'rxjs'

/** The longest delay that the timers of the platform support; a longer one would fire at once. */
export const maxTimerMs = 2 ** 31 - 1

export interface ScheduleOptions {
  /** Whether the timer keeps an otherwise idle process alive, as `ref` does for Node's timers. @default false */
  readonly ref?: boolean
}

/**
 * Calls `act` once after `delayMs`, a delay of any length (`Infinity` for never), unless it is unsubscribed first. On
 * the default scheduler the timer is one of the platform, which can let the process end; any other scheduler, such as
 * one of virtual time, does the scheduling itself.
 */
export const schedule = (
  scheduler: SchedulerLike,
  delayMs: number,
  act: () => void,
  { ref = false }: ScheduleOptions = {},
): Unsubscribable => (delayMs === Infinity ? never : new Timer(scheduler, delayMs, act, ref))

/**
 * Emits once after `delayMs`, a delay of any length (`Infinity` for never), and completes. Counted by the clock of the
 * scheduler from the subscription on; a negative delay counts as 0.
 */
export const longTimer = (delayMs: number, scheduler: SchedulerLike = asyncScheduler): Observable<void> =>
  new Observable((subscriber) => {
    const emit = (): void => {
      subscriber.next()
      subscriber.complete()
    }
    return schedule(scheduler, Math.max(0, delayMs), emit, { ref: true })
  })

const never: Unsubscribable = { unsubscribe: () => undefined }

/** A single object for each timer, because every session has several. */
class Timer implements Unsubscribable {
  readonly #scheduler: SchedulerLike
  readonly #act: () => void
  readonly #ref: boolean
  #remainingMs: number
  #timeout: ReturnType<typeof setTimeout> | undefined
  #scheduled: Unsubscribable | undefined

  constructor(scheduler: SchedulerLike, delayMs: number, act: () => void, ref: boolean) {
    this.#scheduler = scheduler
    this.#act = act
    this.#ref = ref
    this.#remainingMs = delayMs
    this.#wait()
  }

  unsubscribe(): void {
    clearTimeout(this.#timeout)
    this.#scheduled?.unsubscribe()
  }

  #wait(): void {
    const stepMs = Math.min(this.#remainingMs, maxTimerMs)
    this.#remainingMs -= stepMs
    const onTime = (): void => {
      if (this.#remainingMs > 0) this.#wait()
      else this.#act()
    }
    if (this.#scheduler !== asyncScheduler) {
      this.#scheduled = this.#scheduler.schedule(onTime, stepMs)
      return
    }
    this.#timeout = setTimeout(onTime, stepMs)
    if (!this.#ref) unref(this.#timeout)
  }
}

/** In browsers a timer is a number and has nothing to unref. */
const unref = (timeout: number | { readonly unref?: () => unknown }): void => {
  if (typeof timeout === 'object') timeout.unref?.()
}
