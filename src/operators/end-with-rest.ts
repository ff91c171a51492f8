import { catchError, concat, defer, throwError, type Observable } from 'rxjs'

/** How a stream ended. */
export type StreamEnd = { readonly type: 'completed' } | { readonly type: 'failed'; readonly error: unknown }

/**
 * At the end of the source, whether it completes or fails, first what `rest` gives: what was still held. On unsubscribe
 * `rest` is not asked.
 */
export const endWithRest =
  <Value, Rest = Value>(rest: (end: StreamEnd) => Iterable<Rest>) =>
  (source$: Observable<Value>): Observable<Value | Rest> => {
    const failed = (error: unknown): Observable<Rest> =>
      concat(
        defer(() => rest({ type: 'failed', error })),
        throwError(() => error),
      )
    return concat(
      source$.pipe(catchError(failed)),
      defer(() => rest({ type: 'completed' })),
    )
  }
