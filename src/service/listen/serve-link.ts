import { defer, Observable, firstValueFrom, Subject, Subscription } from 'rxjs'
import { clientError, type FaultOptions } from '../sessions/client-error.js'
import type { Link } from '../../transport/link.js'

/** What a client that does not read may leave lying, in bytes; results are small, so more means that it is gone. */
const maxUnreadBytes = 4 * 1_048_576

/**
 * Lets a conversation speak over a link: cold, emits nothing, never errors, completes when the link is closed for
 * whatever reason. The conversation's completion closes in good order, its error closes as the error table says; what
 * it throws on being called is such an error. A client that leaves 4 MiB unread is cut off; unsubscribe closes, too.
 */
export const serveLink = <In, Out>(
  link: Link<In, Out>,
  conversation: (incoming$: Observable<In>, link: Link<In, Out>) => Observable<Out>,
  terms: FaultOptions = {},
): Observable<never> =>
  new Observable((subscriber) => {
    // The last to run at any end; where the link is closed already it does nothing.
    subscriber.add(() => {
      link.close({ code: 'going-away', message: 'The service is closing.' })
    })
    subscriber.add(
      defer(() => conversation(link.incoming$, link)).subscribe({
        next: (message) => {
          if (subscriber.closed) return
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
          link.close(clientError(error, terms))
          subscriber.complete()
        },
      }),
    )
  })

/** The sessions that run on a listener, so that a close can wait for them, and then end them. */
export class SessionSet {
  readonly #running = new Set<Subscription>()
  readonly #empty$ = new Subject<undefined>()

  get size(): number {
    return this.#running.size
  }

  /** Subscribes, and holds the session until it completes. */
  add(session$: Observable<never>): void {
    const subscription = new Subscription()
    this.#running.add(subscription)
    const over = (): void => {
      this.#running.delete(subscription)
      if (this.#running.size === 0) this.#empty$.next(undefined)
    }
    subscription.add(over)
    const end = (): void => {
      subscription.unsubscribe()
    }
    subscription.add(session$.subscribe({ complete: end, error: end }))
  }

  /** Resolves when the last one has ended. */
  async empty(): Promise<void> {
    if (this.#running.size > 0) await firstValueFrom(this.#empty$, { defaultValue: undefined })
  }

  /** Unsubscribes all that run. */
  endAll(): void {
    for (const subscription of [...this.#running]) subscription.unsubscribe()
  }
}
