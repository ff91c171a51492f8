import { defer, Observable, firstValueFrom, Subject, Subscription } from 'rxjs'
import { clientError, isClientError, type FaultOptions } from '../sessions/client-error.js'
import type { Link } from 'rxspeech/internal/transport/link'

/** How many bytes a client can leave unread (PROTOCOL 5.14). Results are small, so a client with more is not reading. */
const maxUnreadBytes = 4 * 1_048_576

/**
 * Connects a session to a link. The result is cold, emits nothing, never errors, and completes when the link is closed
 * for any reason. The link is closed normally when the session completes, by the error table when it errors or throws,
 * with `overloaded` when the client leaves 4 MiB unread, and with `going-away` on unsubscription.
 */
export const serveLink = <In, Out>(
  link: Link<In, Out>,
  serve: (incoming$: Observable<In>, link: Link<In, Out>) => Observable<Out>,
  context: FaultOptions = {},
): Observable<never> =>
  new Observable((subscriber) => {
    // Runs last in all cases; has no effect if the link is already closed.
    subscriber.add(() => {
      link.close({ code: 'going-away', message: 'The service is closing.' })
    })
    subscriber.add(
      defer(() => serve(link.incoming$, link)).subscribe({
        next: (message) => {
          if (subscriber.closed) return
          link.send(message)
          if (link.bufferedBytes > maxUnreadBytes) {
            link.close({ code: 'overloaded', message: 'The client does not read its messages.' })
            subscriber.complete()
          }
        },
        complete: () => {
          link.close()
          subscriber.complete()
        },
        error: (error: unknown) => {
          // Of a conversation, which has reported it.
          link.close(isClientError(error) ? error : clientError(error, context))
          subscriber.complete()
        },
      }),
    )
  })

/** The running sessions, so that a shutdown can wait for them and end them. */
export class SessionSet {
  readonly #running = new Set<Subscription>()
  readonly #empty$ = new Subject<undefined>()

  get size(): number {
    return this.#running.size
  }

  /** Subscribes to the session and keeps it until it ends. */
  add(session$: Observable<never>): Subscription {
    const subscription = new Subscription()
    this.#running.add(subscription)
    const remove = (): void => {
      this.#running.delete(subscription)
      if (this.#running.size === 0) this.#empty$.next(undefined)
    }
    subscription.add(remove)
    const end = (): void => {
      subscription.unsubscribe()
    }
    subscription.add(session$.subscribe({ complete: end, error: end }))
    return subscription
  }

  /** Resolves when the last session has ended. */
  async empty(): Promise<void> {
    if (this.#running.size > 0) await firstValueFrom(this.#empty$, { defaultValue: undefined })
  }

  /** Unsubscribes all sessions. */
  endAll(): void {
    for (const subscription of [...this.#running]) subscription.unsubscribe()
  }
}
