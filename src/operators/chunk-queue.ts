import { bytesForMs, bytesPerFrame, validateFormat, type AudioFormat } from '../audio/format.js'
import { SpeechError } from '../errors/speech-error.js'
import { cutSample } from './whole-frames.js'

/** The longest chunk that may be asked for, in milliseconds: a session is a stream, and messages are bounded. */
export const maxChunkMs = 10_000

/** Bytes of one chunk of `everyMs`, in whole frames; throws when the format or `everyMs` is not usable. */
export const chunkBytesOf = (format: AudioFormat, everyMs: number): number => {
  validateFormat(format)
  const chunkBytes = everyMs > 0 && everyMs <= maxChunkMs ? bytesForMs(format, everyMs) : 0
  if (chunkBytes > 0) return chunkBytes
  const shortest = `at least one sample (${1000 / format.sampleRateHz} ms)`
  throw new SpeechError('invalid-options', `everyMs must be ${shortest} and at most ${maxChunkMs} ms, not ${everyMs}.`)
}

/**
 * Cuts slices of any length into chunks of one length, in order. Slices are held by reference until they are used up,
 * so the caller bounds what it adds. A chunk is a copy in memory of its own, since a view would keep a big slice alive
 * for a small chunk; a slice that is exactly one chunk comes out as it went in.
 */
export class ChunkQueue {
  readonly #chunkBytes: number
  readonly #frameBytes: number
  #slices: Uint8Array[] = []
  /** Bytes of the first slice that are used up. */
  #offset = 0
  /** The chunk under way. */
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

  /** The next whole chunk. Without one, what is left (less than a chunk) is copied, and no slice is held any more. */
  take(): Uint8Array | undefined {
    for (let slice = this.#slices[0]; slice !== undefined; slice = this.#slices[0]) {
      if (this.#open === undefined && this.#offset === 0 && slice.byteLength === this.#chunkBytes) {
        this.#slices.shift()
        return this.#taken(slice)
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

  /** The whole frames that are left when nothing more comes, shorter than a chunk. */
  takeRest(): Uint8Array | undefined {
    const whole = this.#filled - (this.#filled % this.#frameBytes)
    if (this.#open === undefined || whole === 0) return undefined
    const rest = this.#open.slice(0, whole)
    this.#open.copyWithin(0, whole, this.#filled)
    this.#filled -= whole
    return this.#taken(rest)
  }

  /** Throws `cut-sample` when a part of a frame is left at the end. */
  assertNothingCut(): void {
    if (this.#filled > 0) throw cutSample(this.#filled, this.#frameBytes)
  }

  #takeOpen(): Uint8Array | undefined {
    const chunk = this.#open
    this.#open = undefined
    this.#filled = 0
    return chunk && this.#taken(chunk)
  }

  #taken(chunk: Uint8Array): Uint8Array {
    this.#bufferedBytes -= chunk.byteLength
    return chunk
  }
}
