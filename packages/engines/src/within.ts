import { asyncScheduler, type SchedulerLike } from 'rxjs'
import { schedule } from 'rxspeech/internal/kernel/timers'

/** Settles as the work does, or resolves with 'late' when the time is over before. Keeps the process alive. */
export const within = <T>(
  work: Promise<T>,
  durationMs: number,
  scheduler: SchedulerLike = asyncScheduler,
): Promise<T | 'late'> =>
  new Promise((resolve, reject) => {
    const timer = schedule(scheduler, durationMs, () => resolve('late'), { ref: true })
    work.finally(() => timer.unsubscribe()).then(resolve, reject)
  })
