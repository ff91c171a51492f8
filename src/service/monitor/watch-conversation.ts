import { Observable } from 'rxjs'
import { isSpeechError } from '../../errors/speech-error.js'
import type { SessionWatch } from './session-watch.js'

/**
 * The conversation itself; its end is told to the watch, unless that knows of an end by then: completion as `completed`,
 * an error by its code, unsubscription as `cut`.
 */
export const watchConversation =
  (watch: SessionWatch) =>
  <Out>(conversation$: Observable<Out>): Observable<Out> =>
    new Observable((subscriber) => {
      subscriber.add(() => {
        watch.ended('cut')
      })
      subscriber.add(
        conversation$.subscribe({
          next: (message) => {
            subscriber.next(message)
          },
          complete: () => {
            watch.ended('completed')
            subscriber.complete()
          },
          error: (error: unknown) => {
            watch.ended(isSpeechError(error) ? error : { code: 'internal' })
            subscriber.error(error)
          },
        }),
      )
    })
