import { SpeechError } from '../errors/speech-error.js'

/** Takes bytes by count from a source that is sliced anyhow. Errors of the source pass unchanged. */
export interface ByteReader {
  /** Bytes taken so far. */
  readonly positionBytes: () => number
  /** The next `byteCount` bytes; fewer only where the source ends. */
  readonly read: (byteCount: number) => Promise<Uint8Array>
  /** Passes over `byteCount` bytes without keeping them; gives how many there were. */
  readonly skip: (byteCount: number) => Promise<number>
  /** What the source gives next, not empty and at most `maxBytes` long, without a copy; undefined at its end. */
  readonly take: (maxBytes: number) => Promise<Uint8Array | undefined>
  /** Whether the source has ended; may wait for it. Takes nothing. */
  readonly atEnd: () => Promise<boolean>
  /** Ends the source by its `return`, once, unless it ended by itself. */
  readonly release: () => Promise<void>
}

const noBytes = new Uint8Array(0)

export const createByteReader = (source: AsyncIterable<Uint8Array>): ByteReader => {
  const iterator = source[Symbol.asyncIterator]()
  let pending: Uint8Array = noBytes
  let positionBytes = 0
  let finished = false

  const pull = async (): Promise<boolean> => {
    while (pending.length === 0 && !finished) {
      const result = await iterator.next().catch((error: unknown) => {
        finished = true
        throw error
      })
      if (result.done === true) finished = true
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

  const skip = async (byteCount: number): Promise<number> => {
    let length = 0
    for (let part = await take(byteCount); part !== undefined; part = await take(byteCount - length)) {
      length += part.length
    }
    return length
  }

  const release = async (): Promise<void> => {
    pending = noBytes
    if (finished) return
    finished = true
    await iterator.return?.()
  }

  return { positionBytes: () => positionBytes, read, skip, take, atEnd: async () => !(await pull()), release }
}
