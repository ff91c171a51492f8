import {
  defer,
  exhaustMap,
  finalize,
  from,
  isObservable,
  map,
  of,
  takeWhile,
  type Observable,
  type ObservableInput,
} from 'rxjs'

/** What both kinds of iterators have in common. */
interface Puller<Value> {
  readonly next: () => PromiseLike<IteratorResult<Value, unknown>> | IteratorResult<Value, unknown>
  readonly release: () => PromiseLike<unknown> | undefined
}

/**
 * A source that waits to be asked, as an Observable that asks it once for each value of `more$` (none while an answer is
 * due). An iterable, an async iterable (a Node stream is one) or a Web stream can wait; an Observable or a promise
 * can't, it pushes: then `undefined`.
 *
 * Nothing is buffered. Completes when the source ends, errors as it does, and lets go of it on unsubscribe
 * (`return()` of an iterator, `cancel()` of a Web stream).
 */
export function pullable<Value>(
  source: ObservableInput<Value>,
  more$: Observable<unknown>,
): Observable<Value> | undefined {
  const open = pullerOf(source)
  return open && defer(() => pulled(open(), more$))
}

function pulled<Value>(puller: Puller<Value>, more$: Observable<unknown>): Observable<Value> {
  let state: 'open' | 'ended' = 'open'
  return more$.pipe(
    exhaustMap(() => {
      const answer = puller.next()
      return isPromiseLike(answer) ? from(answer) : of(answer)
    }),
    takeWhile((result) => {
      if (result.done === true) state = 'ended'
      return state === 'open'
    }),
    map((result) => result.value as Value),
    finalize(() => {
      if (state === 'open') puller.release()?.then(ignore, ignore)
    }),
  )
}

function pullerOf<Value>(source: ObservableInput<Value>): (() => Puller<Value>) | undefined {
  if (isObservable(source)) return undefined
  if (Symbol.asyncIterator in source) return () => iteratorPuller(source[Symbol.asyncIterator]())
  if (Symbol.iterator in source) return () => iteratorPuller(source[Symbol.iterator]())
  if ('getReader' in source) return () => readerPuller(source.getReader())
  return undefined
}

const iteratorPuller = <Value>(iterator: Iterator<Value> | AsyncIterator<Value>): Puller<Value> => ({
  next: () => iterator.next(),
  release: () => Promise.resolve(iterator.return?.()),
})

const readerPuller = <Value>(reader: StreamReader<Value>): Puller<Value> => ({
  next: () => reader.read() as PromiseLike<IteratorResult<Value, unknown>>,
  release: () => (reader as Partial<ReadableStreamDefaultReader>).cancel?.(),
})

type StreamReader<Value> = ReturnType<Extract<ObservableInput<Value>, { getReader: unknown }>['getReader']>

const isPromiseLike = <Value>(value: PromiseLike<Value> | Value): value is PromiseLike<Value> =>
  typeof value === 'object' && value !== null && 'then' in value

const ignore = (): void => undefined
