import type { SchedulerLike } from 'rxjs'
import type { SpeechError } from '../../errors/speech-error.js'

/** The work's own outcome, or the error when it takes longer; what comes of it after that is nobody's. */
export const inTime = async <Outcome>(
  work: Promise<Outcome>,
  durationMs: number,
  scheduler: SchedulerLike,
  late: SpeechError,
): Promise<Outcome> =>
  new Promise((resolve, reject) => {
    const timer = scheduler.schedule(() => {
      reject(late)
    }, durationMs)
    work.then(resolve, reject).finally(() => {
      timer.unsubscribe()
    })
  })
