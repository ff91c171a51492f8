import { Observable, type MonoTypeOperatorFunction } from 'rxjs'
import { SpeechError } from '../errors/speech-error.js'

const ticks = 5

/**
 * Ends with `source-failed` after `timeoutMs` without a value, or up to a fifth later. It counts ticks of a timer and
 * not the time, which also passes while the machine sleeps.
 *
 * @param isDue whether audio must come now
 */
export const failWithoutAudio =
  <T>(timeoutMs: number, message: string, isDue: () => boolean = () => true): MonoTypeOperatorFunction<T> =>
  (source$) =>
    new Observable((subscriber) => {
      let quietTicks = 0
      const timer = setInterval(() => {
        quietTicks = isDue() ? quietTicks + 1 : 0
        if (quietTicks > ticks) subscriber.error(new SpeechError('source-failed', message))
      }, timeoutMs / ticks)
      subscriber.add(() => clearInterval(timer))
      return source$.subscribe({
        next: (value) => {
          quietTicks = 0
          subscriber.next(value)
        },
        error: (error: unknown) => subscriber.error(error),
        complete: () => subscriber.complete(),
      })
    })
