import { firstValueFrom, type Observable, Subject, Subscription } from 'rxjs'

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
