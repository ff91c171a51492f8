import { catchError, concat, defer, throwError, type MonoTypeOperatorFunction } from 'rxjs'

/**
 * At the end of the source, whether it completes or fails, first what `rest` gives: what was still held. On unsubscribe
 * `rest` is not asked.
 */
export const endWithRest =
  <Value>(rest: () => Iterable<Value>): MonoTypeOperatorFunction<Value> =>
  (source$) => {
    const rest$ = defer(rest)
    const failed = (error: unknown) =>
      concat(
        rest$,
        throwError(() => error),
      )
    return concat(source$.pipe(catchError(failed)), rest$)
  }
