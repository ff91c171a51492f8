import { isObservable, type ObservableInput } from 'rxjs'

/** What iterators, async iterators and Web streams have in common: they give when they are asked. */
export interface Puller {
  readonly next: () => PromiseLike<IteratorResult<Uint8Array, unknown>> | IteratorResult<Uint8Array, unknown>
  readonly release: () => void
}

/** How to pull from a source, or undefined for one that pushes (an Observable, a promise). */
export const pullerOf = (source: ObservableInput<Uint8Array>): (() => Puller) | undefined => {
  if (isObservable(source)) return undefined
  if (typeof source === 'object' && 'getReader' in source && typeof source.getReader === 'function') {
    return () => readerPuller(source as unknown as ReadableStream<Uint8Array>)
  }
  if (Symbol.asyncIterator in source) return () => iteratorPuller(source[Symbol.asyncIterator]())
  if (Symbol.iterator in source) return () => iteratorPuller(source[Symbol.iterator]())
  return undefined
}

const ignore = (): void => undefined

const readerPuller = (stream: ReadableStream<Uint8Array>): Puller => {
  const reader = stream.getReader()
  return {
    next: async () => {
      const result = await reader.read()
      return result.done ? { done: true, value: undefined } : { done: false, value: result.value }
    },
    release: () => {
      reader.cancel().catch(ignore)
    },
  }
}

const iteratorPuller = (iterator: Iterator<Uint8Array> | AsyncIterator<Uint8Array>): Puller => ({
  next: () => iterator.next(),
  release: () => {
    Promise.resolve(iterator.return?.()).catch(ignore)
  },
})
