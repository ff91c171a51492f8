import {
  defer,
  filter,
  finalize,
  from,
  isObservable,
  map,
  mergeMap,
  of,
  takeWhile,
  tap,
  type Observable,
  type ObservableInput,
} from 'rxjs'
import { SpeechError } from '../../errors/speech-error.js'

/** A source that is read on request: the common part of iterators, async iterators and Web streams. */
export interface Puller<Value> {
  /** Must not be called again before the previous call has settled. */
  readonly next: () => PromiseLike<IteratorResult<Value, unknown>> | IteratorResult<Value, unknown>
  /** Releases the source, also before the first call and during one. Never throws. */
  readonly release: () => void
}

/**
 * Reads an iterable, an async iterable (such as a Node stream) or a Web stream: one value for each value of `more$`,
 * which is ignored while a read is pending. Returns undefined for an Observable or a promise, which push.
 *
 * Buffers nothing. Completes and errors with the source, and releases it on unsubscription (`return()` of an iterator,
 * `cancel()` of a Web stream, `destroy()` of a Node stream).
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
      // A promised value: the consumer can request the next one while it handles this one. An immediate value: only
      // after it, because requests within it would nest as deep as there are values.
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

/**
 * How to read from a source, or undefined for one that pushes (an Observable, a promise). Opening throws
 * `already-started` for an iterator or a stream of which something was read before, or which was released: its audio is
 * lost for this reader.
 */
export function pullerOf<Value>(source: ObservableInput<Value>): (() => Puller<Value>) | undefined {
  if (isObservable(source) || (typeof source !== 'object' && typeof source !== 'string')) return undefined
  // Before the iterators: in Node a Web stream is async iterable, too, but its `return()` waits for a pending read.
  if (isWebStream<Value>(source)) return () => streamPuller(source)
  if (isNodeStream<Value>(source)) return () => nodePuller(source)
  if (Symbol.asyncIterator in Object(source)) {
    return () => iteratorPuller((source as AsyncIterable<Value>)[Symbol.asyncIterator]())
  }
  if (Symbol.iterator in Object(source)) return () => iteratorPuller((source as Iterable<Value>)[Symbol.iterator]())
  return undefined
}

type NodeStream<Value> = AsyncIterable<Value> & {
  readonly destroy: () => unknown
  readonly destroyed?: boolean
  readonly errored?: Error | null
  readonly readableEnded?: boolean
}

const isWebStream = <Value>(source: object | string): source is ReadableStream<Value> =>
  typeof source === 'object' && 'getReader' in source && typeof source.getReader === 'function'

const isNodeStream = <Value>(source: object | string): source is NodeStream<Value> =>
  typeof source === 'object' &&
  Symbol.asyncIterator in source &&
  'destroy' in source &&
  typeof source.destroy === 'function'

const iteratorPuller = <Value>(iterator: Iterator<Value> | AsyncIterator<Value>): Puller<Value> =>
  readOnce<Value>(iterator, true, () => ({
    next: () => iterator.next(),
    release: () => void quietly(() => iterator.return?.()),
  }))

/** `return()` waits for a pending read and does nothing before the first one; `destroy()` works at any time. */
const nodePuller = <Value>(stream: NodeStream<Value>): Puller<Value> =>
  readOnce<Value>(
    stream,
    stream.readableEnded !== true && (stream.destroyed !== true || stream.errored instanceof Error),
    () => {
      const iterator = stream[Symbol.asyncIterator]()
      return {
        next: () => iterator.next(),
        release: () => {
          void quietly(() => iterator.return?.())
          void quietly(() => stream.destroy())
        },
      }
    },
  )

const streamPuller = <Value>(stream: ReadableStream<Value>): Puller<Value> =>
  readOnce<Value>(stream, !stream.locked, () => {
    const reader = stream.getReader()
    return { next: () => reader.read(), release: () => void quietly(() => reader.cancel()) }
  })

/** Iterators and streams that were read or released. */
const spent = new WeakSet<object>()

/** Of a source that returns another iterator to each reader, such as an array, the key is that iterator. */
const readOnce = <Value>(key: object, isReadable: boolean, open: () => Puller<Value>): Puller<Value> => {
  if (spent.has(key)) {
    throw new SpeechError(
      'already-started',
      'The audio was read before: an iterator or a stream can be read once. Create it for each subscription, for example in defer.',
    )
  }
  if (!isReadable) {
    throw new SpeechError(
      'source-failed',
      'The stream of audio was closed or read before, or something else reads it; a stream can be read once.',
    )
  }
  const puller = open()
  return {
    next: () => {
      spent.add(key)
      return puller.next()
    },
    release: () => {
      spent.add(key)
      puller.release()
    },
  }
}

/** Ignores what a source throws while it is released. */
const quietly = async (act: () => unknown): Promise<void> => {
  try {
    await act()
  } catch {
    return
  }
}

export const isPromiseLike = <Value>(value: PromiseLike<Value> | Value): value is PromiseLike<Value> =>
  typeof value === 'object' && value !== null && 'then' in value

/** Whether `from` of RxJS accepts the value. */
export const isObservableInput = (value: unknown): value is ObservableInput<unknown> => {
  try {
    void from(value as ObservableInput<unknown>)
    return true
  } catch {
    return false
  }
}
