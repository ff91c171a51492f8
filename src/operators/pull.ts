import { defer, filter, finalize, from, isObservable, map, mergeMap, of, takeWhile, tap } from 'rxjs'
import type { Observable, ObservableInput } from 'rxjs'

/** A source that gives when it is asked: what iterators, async iterators and Web streams have in common. */
export interface Puller<Value> {
  /** Not to be asked again while an answer is due. */
  readonly next: () => PromiseLike<IteratorResult<Value, unknown>> | IteratorResult<Value, unknown>
  /** Lets go of the source, also while an answer is due or before the first was asked for. Never throws. */
  readonly release: () => void
}

/**
 * A source that waits to be asked, as an Observable that asks it once for each value of `more$` (none while an answer is
 * due; of a promised one that is over before its value goes out). An iterable, an async iterable (a Node stream is one) or a Web stream can wait; an Observable or a promise
 * can't, it pushes: then `undefined`.
 *
 * Nothing is buffered. Completes when the source ends, errors as it does, and lets go of it on unsubscribe
 * (`return()` of an iterator, `cancel()` of a Web stream, `destroy()` of a Node stream).
 */
export function pullable<Value>(
  source: ObservableInput<Value>,
  more$: Observable<unknown>,
): Observable<Value> | undefined {
  const open = pullerOf(source)
  return open && defer(() => pulled(open(), more$))
}

function pulled<Value>(puller: Puller<Value>, more$: Observable<unknown>): Observable<Value> {
  let state: 'idle' | 'asked' | 'ended' = 'idle'
  return more$.pipe(
    filter(() => state === 'idle'),
    mergeMap(() => {
      state = 'asked'
      const answer = puller.next()
      // Who gets a promised answer may ask for the next while he gets it, or a wish is lost with each small piece. One
      // that is there at once is over when all have seen it, for asking within it would nest as deep as there are pieces.
      return isPromiseLike(answer)
        ? from(answer).pipe(tap(() => (state = 'idle')))
        : of(answer).pipe(tap({ complete: () => (state = 'idle') }))
    }),
    takeWhile((result) => {
      if (result.done === true) state = 'ended'
      return state !== 'ended'
    }),
    map((result) => result.value as Value),
    finalize(() => {
      if (state !== 'ended') puller.release()
    }),
  )
}

/** How to pull from a source, or undefined for one that pushes (an Observable, a promise). */
export function pullerOf<Value>(source: ObservableInput<Value>): (() => Puller<Value>) | undefined {
  if (isObservable(source) || (typeof source !== 'object' && typeof source !== 'string')) return undefined
  // Before the iterators: in Node a Web stream is async iterable too, but its `return()` waits behind a pending read.
  if (isWebStream<Value>(source)) return () => readerPuller(source.getReader())
  if (isNodeStream<Value>(source)) return () => nodePuller(source)
  if (Symbol.asyncIterator in Object(source)) {
    return () => iteratorPuller((source as AsyncIterable<Value>)[Symbol.asyncIterator]())
  }
  if (Symbol.iterator in Object(source)) return () => iteratorPuller((source as Iterable<Value>)[Symbol.iterator]())
  return undefined
}

type NodeStream<Value> = AsyncIterable<Value> & { readonly destroy: () => unknown }

const isWebStream = <Value>(source: object | string): source is ReadableStream<Value> =>
  typeof source === 'object' && 'getReader' in source && typeof source.getReader === 'function'

const isNodeStream = <Value>(source: object | string): source is NodeStream<Value> =>
  typeof source === 'object' &&
  Symbol.asyncIterator in source &&
  'destroy' in source &&
  typeof source.destroy === 'function'

const iteratorPuller = <Value>(iterator: Iterator<Value> | AsyncIterator<Value>): Puller<Value> => ({
  next: () => iterator.next(),
  release: () => void quietly(() => iterator.return?.()),
})

/** `return()` waits behind a pending read, and does nothing before the first one; `destroy()` works at any time. */
const nodePuller = <Value>(stream: NodeStream<Value>): Puller<Value> => {
  const iterator = stream[Symbol.asyncIterator]()
  return {
    next: () => iterator.next(),
    release: () => {
      void quietly(() => iterator.return?.())
      void quietly(() => stream.destroy())
    },
  }
}

const readerPuller = <Value>(reader: ReadableStreamDefaultReader<Value>): Puller<Value> => ({
  next: () => reader.read(),
  release: () => void quietly(() => reader.cancel()),
})

/** What a source says when it is let go of concerns nobody any more. */
const quietly = async (act: () => unknown): Promise<void> => {
  try {
    await act()
  } catch {
    return
  }
}

export const isPromiseLike = <Value>(value: PromiseLike<Value> | Value): value is PromiseLike<Value> =>
  typeof value === 'object' && value !== null && 'then' in value
