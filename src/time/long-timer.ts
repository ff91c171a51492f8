import { asyncScheduler, defer, map, NEVER, switchMap, timer, type Observable, type SchedulerLike } from 'rxjs'
import { longestTimerMs } from './longest-timer.js'

/**
 * Emits once, after `delayMs`, and completes; a delay of any length, split where timers can't hold it, and Infinity for
 * never. Counted by the scheduler's clock from the subscription on.
 */
export function longTimer(delayMs: number, scheduler: SchedulerLike = asyncScheduler): Observable<void> {
  return defer(() => (delayMs === Infinity ? NEVER : until(scheduler.now() + delayMs, scheduler)))
}

function until(dueMs: number, scheduler: SchedulerLike): Observable<void> {
  return defer(() => {
    const leftMs = dueMs - scheduler.now()
    return leftMs > longestTimerMs
      ? timer(longestTimerMs, scheduler).pipe(switchMap(() => until(dueMs, scheduler)))
      : timer(Math.max(0, leftMs), scheduler).pipe(map(() => undefined))
  })
}
