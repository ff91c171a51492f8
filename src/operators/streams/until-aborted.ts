import { defer, fromEvent, map, of, take, takeUntil, type MonoTypeOperatorFunction, type Observable } from 'rxjs'

/**
 * Emits once when the signal is aborted, at once when it is already, and completes. As `finalize$` or `stop$` of a
 * session it ends that in good order. Unsubscribe: the signal is listened to no more.
 */
export const whenAborted = (signal: AbortSignal): Observable<void> =>
  defer(() => (signal.aborted ? of(undefined) : fromEvent(signal, 'abort').pipe(take(1), map(nothing))))

const nothing = (): void => undefined

/**
 * Passes the source on until the signal is aborted; then unsubscribes from it, which aborts a session at once, and errors
 * with the signal's reason, as `fetch` does (an `AbortError`, a `TimeoutError`, or what `abort(reason)` was given).
 *
 * - A signal that is aborted already: the error at once, and no subscription.
 * - Completion and error of the source: the same. After any end the signal is listened to no more.
 * - Buffered: nothing.
 */
export const untilAborted =
  <Value>(signal: AbortSignal): MonoTypeOperatorFunction<Value> =>
  (source$) => {
    const aborted$ = whenAborted(signal).pipe(
      map(() => {
        throw signal.reason
      }),
    )
    return source$.pipe(takeUntil(aborted$))
  }
