import { defer, fromEvent, map, of, take, type Observable } from 'rxjs'

/**
 * Emits once when the signal is aborted (at once if it already is) and completes. Unsubscription removes the listener.
 *
 * - As `finalize$` or `stop$` of a session it ends the session in order.
 * - With `takeUntil` it unsubscribes from a session, which aborts it at once.
 *
 * @example
 * ```ts
 * const controller = new AbortController()
 * audio$.pipe(recognize({ ...options, finalize$: fromAbortSignal(controller.signal) })).subscribe()
 * session$.pipe(takeUntil(fromAbortSignal(AbortSignal.timeout(60_000)))).subscribe()
 * ```
 */
export const fromAbortSignal = (signal: AbortSignal): Observable<void> =>
  defer(() => (signal.aborted ? of(undefined) : fromEvent(signal, 'abort').pipe(take(1), map(nothing))))

const nothing = (): void => undefined
