import { SpeechError } from '../errors/speech-error.js'
import { joinBytes } from './format.js'

/** Reads a given number of bytes from a source of chunks of any length. Errors of the source pass through unchanged. */
export interface ByteReader {
  /** The number of bytes read so far. */
  readonly positionBytes: () => number
  /** Reads the next `byteCount` bytes; fewer only at the end of the source. */
  readonly read: (byteCount: number) => Promise<Uint8Array>
  /** Returns bytes that were just taken, which are then the next ones. */
  readonly unread: (bytes: Uint8Array) => void
  /** The next `byteCount` bytes, which stay to be read; fewer only at the end of the source. */
  readonly peek: (byteCount: number) => Promise<Uint8Array>
  /** Skips `byteCount` bytes and returns how many there were. */
  readonly skip: (byteCount: number) => Promise<number>
  /** The next chunk without a copy, not empty and at most `maxBytes` long; undefined at the end of the source. */
  readonly take: (maxBytes: number) => Promise<Uint8Array | undefined>
  /** Whether the source has ended. Can wait for the source; reads nothing. */
  readonly atEnd: () => Promise<boolean>
  /** Calls `return` of the source once, unless it has ended. */
  readonly release: () => Promise<void>
}

const noBytes = new Uint8Array(0)

/** A Web stream; those of Safari, and of Chrome before 124, are not async iterable. */
export interface ByteStream {
  /** Locks the stream for one reader. */
  readonly getReader: () => {
    /** The next chunk, or `done` at the end. */
    readonly read: () => Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>
    /** Ends the stream; what it holds is lost. */
    readonly cancel: () => Promise<void>
  }
}

/** Bytes in chunks: a Node stream or another async iterable, a Web stream, a Blob or File, an array of chunks. */
export type ByteChunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array> | ByteStream | ByteBlob

/** A Blob or File. */
export interface ByteBlob {
  /** Opens its bytes as a Web stream. */
  readonly stream: () => ByteStream
}

/** Undefined for any other value, also for a text and for the bytes of a whole file. */
const iteratorOf = (source: unknown): AsyncIterator<Uint8Array> | undefined => {
  if (typeof source !== 'object' || source === null || ArrayBuffer.isView(source)) return undefined
  const chunks = source as
    | AsyncIterable<Uint8Array>
    | (Partial<ByteStream & { readonly stream: () => ByteStream }> & (Iterable<Uint8Array> | object))
  if (Symbol.asyncIterator in chunks) return chunks[Symbol.asyncIterator]()
  if (chunks.getReader !== undefined) return streamIterator(chunks.getReader())
  if (chunks.stream !== undefined) return iteratorOf(chunks.stream())
  return Symbol.iterator in chunks ? eachOf(chunks) : undefined
}

const eachOf = (chunks: Iterable<Uint8Array>): AsyncIterator<Uint8Array, undefined> => {
  const iterator = chunks[Symbol.iterator]()
  const later = Promise.resolve()
  return {
    next: () => later.then(() => iterator.next()),
    return: () =>
      later.then(() => {
        iterator.return?.()
        return { done: true, value: undefined }
      }),
  }
}

const streamIterator = (reader: ReturnType<ByteStream['getReader']>): AsyncIterator<Uint8Array, undefined> => ({
  next: async () => {
    const { done, value } = await reader.read()
    return done || value === undefined ? { done: true, value: undefined } : { done: false, value }
  },
  return: async () => {
    await reader.cancel()
    return { done: true, value: undefined }
  },
})

/** Throws `invalid-options` for a source of another kind. */
export const createByteReader = (source: ByteChunks): ByteReader => {
  const iterator = iteratorOf(source)
  if (iterator === undefined) {
    throw new SpeechError(
      'invalid-options',
      'readWav reads bytes in chunks: a stream such as createReadStream(path) or the body of a fetch, a Blob, or an array of Uint8Array.',
    )
  }
  let pending: Uint8Array = noBytes
  /** What follows `pending`, if something was returned. */
  let afterPending: Uint8Array = noBytes
  let positionBytes = 0
  let isFinished = false

  const pull = async (): Promise<boolean> => {
    if (pending.length === 0) [pending, afterPending] = [afterPending, noBytes]
    while (pending.length === 0 && !isFinished) {
      const result = await iterator.next().catch((error: unknown) => {
        isFinished = true
        throw error
      })
      if (result.done === true) isFinished = true
      else if (ArrayBuffer.isView(result.value)) pending = result.value
      else
        throw new SpeechError(
          'invalid-wav',
          `The source gives ${typeof result.value} instead of bytes; read it without a text encoding.`,
        )
    }
    return pending.length > 0
  }

  const take = async (maxBytes: number): Promise<Uint8Array | undefined> => {
    if (maxBytes <= 0 || !(await pull())) return undefined
    const taken = pending.subarray(0, maxBytes)
    pending = pending.subarray(taken.length)
    positionBytes += taken.length
    return taken
  }

  const read = async (byteCount: number): Promise<Uint8Array> => {
    const bytes = new Uint8Array(byteCount)
    let length = 0
    for (let part = await take(byteCount); part !== undefined; part = await take(byteCount - length)) {
      bytes.set(part, length)
      length += part.length
    }
    return bytes.subarray(0, length)
  }

  const unread = (bytes: Uint8Array): void => {
    positionBytes -= bytes.length
    afterPending = afterPending.length === 0 ? pending : joinBytes(pending, afterPending)
    pending = bytes
  }

  const peek = async (byteCount: number): Promise<Uint8Array> => {
    const bytes = await read(byteCount)
    unread(bytes)
    return bytes
  }

  const skip = async (byteCount: number): Promise<number> => {
    let length = 0
    for (let part = await take(byteCount); part !== undefined; part = await take(byteCount - length)) {
      length += part.length
    }
    return length
  }

  const release = async (): Promise<void> => {
    pending = afterPending = noBytes
    if (isFinished) return
    isFinished = true
    await iterator.return?.()
  }

  return {
    positionBytes: () => positionBytes,
    read,
    unread,
    peek,
    skip,
    take,
    atEnd: async () => !(await pull()),
    release,
  }
}
