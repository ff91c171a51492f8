import { asyncScheduler, Subscription, type SchedulerLike } from 'rxjs'
import { longestTimerMs } from '../protocol/longest-timer.js'

/** Whether a process that has nothing else to do waits for a timer, or ends. */
export type Hold = 'holds the process' | 'lets the process end'

/**
 * Does something once, after `delayMs` (any length; Infinity for never), unless the returned subscription is ended
 * before. On the default scheduler the timer can let the process end, which RxJS' own cannot; another scheduler, such as
 * one of virtual time, is just asked.
 */
export const later = (scheduler: SchedulerLike, delayMs: number, act: () => void, hold: Hold): Subscription => {
  if (delayMs === Infinity) return new Subscription()
  const stepMs = Math.min(delayMs, longestTimerMs)
  const done = new Subscription()
  const onTime = (): void => {
    if (stepMs < delayMs) done.add(later(scheduler, delayMs - stepMs, act, hold))
    else act()
  }
  if (scheduler !== asyncScheduler) {
    done.add(scheduler.schedule(onTime, stepMs))
    return done
  }
  const timer = setTimeout(onTime, stepMs)
  if (hold === 'lets the process end') unref(timer)
  done.add(() => clearTimeout(timer))
  return done
}

/** A browser's timer is a number, and holds nothing. */
const unref = (timer: number | { readonly unref?: () => unknown }): void => {
  if (typeof timer === 'object') timer.unref?.()
}
