import { catchError, concat, defer, throwError, type Observable } from 'rxjs'

/** How a stream ended. */
export type StreamEnd = { readonly type: 'completed' } | { readonly type: 'failed'; readonly error: unknown }

/**
 * Emits the values of `createRest` when the source completes or fails, then completes or fails the same way. Not called
 * on unsubscription.
 */
export const emitAtEnd =
  <Value, Rest = Value>(createRest: (end: StreamEnd) => Iterable<Rest>) =>
  (source$: Observable<Value>): Observable<Value | Rest> => {
    const failed = (error: unknown): Observable<Rest> =>
      concat(
        defer(() => createRest({ type: 'failed', error })),
        throwError(() => error),
      )
    return concat(
      source$.pipe(catchError(failed)),
      defer(() => createRest({ type: 'completed' })),
    )
  }
