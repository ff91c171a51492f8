import { bytesForMs, bytesPerFrame, validateFormat, type AudioFormat } from '../../audio/format.js'
import { SpeechError } from '../../errors/speech-error.js'
import { cutSample } from './whole-frames.js'

/** The maximum length of a chunk, in milliseconds. A longer one could exceed the message limit of a service. */
const maxChunkMs = 10_000

/** Bytes of one chunk of `everyMs`, in whole frames. Throws `invalid-format` or `invalid-options`. */
export const chunkBytesOf = (format: AudioFormat, everyMs: number): number => {
  validateFormat(format)
  const chunkBytes = everyMs > 0 && everyMs <= maxChunkMs ? bytesForMs(format, everyMs) : 0
  if (chunkBytes > 0) return chunkBytes
  const shortest = `at least one sample (${1000 / format.sampleRateHz} ms)`
  throw new SpeechError('invalid-options', `everyMs must be ${shortest} and at most ${maxChunkMs} ms, not ${everyMs}.`)
}

/**
 * Cuts slices of any length into chunks of one length. It holds slices by reference until they are consumed, so the
 * caller limits what it adds. A chunk is a copy, because a view would keep a large slice in memory; a slice that is
 * exactly one chunk is returned as it is.
 */
export class ChunkQueue {
  readonly #chunkBytes: number
  readonly #frameBytes: number
  #slices: Uint8Array[] = []
  /** Consumed bytes of the first slice. */
  #offset = 0
  /** The chunk that is being filled. */
  #open: Uint8Array | undefined
  #filled = 0
  #bufferedBytes = 0

  constructor(format: AudioFormat, chunkBytes: number) {
    this.#chunkBytes = chunkBytes
    this.#frameBytes = bytesPerFrame(format)
  }

  get bufferedBytes(): number {
    return this.#bufferedBytes
  }

  add(slice: Uint8Array): void {
    if (slice.byteLength === 0) return
    this.#slices.push(slice)
    this.#bufferedBytes += slice.byteLength
  }

  /** The next whole chunk, or undefined. In that case the remainder is copied and no slice is held any more. */
  take(): Uint8Array | undefined {
    for (let slice = this.#slices[0]; slice !== undefined; slice = this.#slices[0]) {
      if (this.#open === undefined && this.#offset === 0 && slice.byteLength === this.#chunkBytes) {
        this.#slices.shift()
        return this.#release(slice)
      }
      this.#open ??= new Uint8Array(this.#chunkBytes)
      const part = slice.subarray(this.#offset, this.#offset + this.#chunkBytes - this.#filled)
      this.#open.set(part, this.#filled)
      this.#filled += part.byteLength
      this.#offset += part.byteLength
      if (this.#offset === slice.byteLength) {
        this.#slices.shift()
        this.#offset = 0
      }
      if (this.#filled === this.#chunkBytes) return this.#takeOpen()
    }
    return undefined
  }

  /** The remaining whole frames at the end of the stream, less than a chunk. */
  takeRest(): Uint8Array | undefined {
    const whole = this.#filled - (this.#filled % this.#frameBytes)
    if (this.#open === undefined || whole === 0) return undefined
    const rest = this.#open.slice(0, whole)
    this.#open.copyWithin(0, whole, this.#filled)
    this.#filled -= whole
    return this.#release(rest)
  }

  /** Throws `cut-sample` if an incomplete frame remains. */
  assertComplete(): void {
    if (this.#filled > 0) throw cutSample(this.#filled, this.#frameBytes)
  }

  #takeOpen(): Uint8Array | undefined {
    const chunk = this.#open
    this.#open = undefined
    this.#filled = 0
    return chunk && this.#release(chunk)
  }

  #release(chunk: Uint8Array): Uint8Array {
    this.#bufferedBytes -= chunk.byteLength
    return chunk
  }
}
