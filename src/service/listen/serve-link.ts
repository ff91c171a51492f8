import { Observable } from 'rxjs'
import { isSpeechError, SpeechError } from '../../errors/speech-error.js'
import type { Link } from '../../transport/link.js'

/** What a client that does not read may leave lying, in bytes; results are small, so more means that it is gone. */
const maxUnreadBytes = 4 * 1_048_576

/**
 * Lets a conversation speak over a link: cold, emits nothing, completes when the link is closed for whatever reason.
 * The conversation's completion closes in good order, its error closes as the error table says; unsubscribe closes too.
 */
export const serveLink = <In, Out>(
  link: Link<In, Out>,
  conversation: (incoming$: Observable<In>, link: Link<In, Out>) => Observable<Out>,
): Observable<never> =>
  new Observable((subscriber) => {
    subscriber.add(
      conversation(link.incoming, link).subscribe({
        next: (message) => {
          link.send(message)
          if (link.bufferedBytes > maxUnreadBytes) {
            link.close({ code: 'overloaded', message: 'The client does not read what it is told.' })
            subscriber.complete()
          }
        },
        complete: () => {
          link.close()
          subscriber.complete()
        },
        error: (error: unknown) => {
          link.close(reasonOf(error))
          subscriber.complete()
        },
      }),
    )
    subscriber.add(() => {
      link.close({ code: 'going-away', message: 'The service is closing.' })
    })
  })

const reasonOf = (error: unknown): SpeechError =>
  isSpeechError(error) ? error : new SpeechError('internal', 'The service failed; try again.')
