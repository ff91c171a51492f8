import { defer, fromEvent, map, of, take, takeUntil, type MonoTypeOperatorFunction, type Observable } from 'rxjs'

/**
 * Emits once when the signal is aborted (at once if it already is) and completes. As `finalize$` or `stop$` of a session it
 * ends the session in order. Unsubscription removes the listener.
 *
 * @example
 * ```ts
 * const controller = new AbortController()
 * audio$.pipe(recognize({ ...options, finalize$: whenAborted(controller.signal) })).subscribe()
 * ```
 */
export const whenAborted = (signal: AbortSignal): Observable<void> =>
  defer(() => (signal.aborted ? of(undefined) : fromEvent(signal, 'abort').pipe(take(1), map(nothing))))

const nothing = (): void => undefined

/**
 * Mirrors the source until the signal is aborted, then unsubscribes, which aborts a session at once, and errors with the
 * reason of the signal, as `fetch` does (an `AbortError`, a `TimeoutError`, or the argument of `abort(reason)`).
 *
 * - Signal already aborted: errors at once, without a subscription.
 * - Completion and error of the source are passed on. The listener is removed at any end.
 * - Buffering: none.
 *
 * @example
 * ```ts
 * session$.pipe(untilAborted(AbortSignal.timeout(60_000)))
 * ```
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
