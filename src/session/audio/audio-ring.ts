/** Of one block of memory: half a second of 16-bit audio at 16 kHz. */
const blockBytes = 16_384

/**
 * The bytes of one stretch of a stream, in blocks of memory: they are appended at its end and given up at its beginning.
 * Positions count from the first byte of the stream. A block is made when its first byte comes and let go of with its
 * last, so what is held is never moved, and costs two blocks at most beyond itself; who owns it keeps that bounded.
 */
export class AudioRing {
  readonly #blocks: Uint8Array[] = []
  /** The number of the block that stands first, counted from the first byte of the stream. */
  #firstBlock = 0
  #start = 0
  #end = 0

  /** The position of the first byte that is held. */
  get start(): number {
    return this.#start
  }

  /** The position after the last byte that was appended and not taken back. */
  get end(): number {
    return this.#end
  }

  /** Takes a copy: who gave the bytes may use them again. */
  append(bytes: Uint8Array): void {
    const { length } = bytes
    for (let taken = 0; taken < length;) {
      const at = this.#end % blockBytes
      const part = Math.min(length - taken, blockBytes - at)
      const index = Math.floor(this.#end / blockBytes) - this.#firstBlock
      const block = (this.#blocks[index] ??= new Uint8Array(blockBytes))
      block.set(part === length ? bytes : bytes.subarray(taken, taken + part), at)
      taken += part
      this.#end += part
    }
  }

  /** Counts bytes that are not held, where nothing is. */
  skip(byteCount: number): void {
    this.#end += byteCount
    this.dropBefore(this.#end)
  }

  /** A copy of what stands from one position to another; both must be held. */
  slice(from: number, to: number): Uint8Array {
    const copy = new Uint8Array(to - from)
    for (let position = from; position < to;) {
      const at = position % blockBytes
      const part = Math.min(to - position, blockBytes - at)
      const block = this.#blocks[Math.floor(position / blockBytes) - this.#firstBlock]
      if (block !== undefined) copy.set(block.subarray(at, at + part), position - from)
      position += part
    }
    return copy
  }

  /** Gives up what stands before a position. */
  dropBefore(position: number): void {
    this.#start = Math.min(Math.max(this.#start, position), this.#end)
    const firstBlock = Math.floor(this.#start / blockBytes)
    if (firstBlock === this.#firstBlock) return
    this.#blocks.splice(0, firstBlock - this.#firstBlock)
    this.#firstBlock = firstBlock
  }

  /** Takes back what stands from a position on. */
  dropAfter(position: number): void {
    this.#end = Math.max(this.#start, Math.min(this.#end, position))
    const used = Math.ceil(this.#end / blockBytes) - this.#firstBlock
    if (used < this.#blocks.length) this.#blocks.length = used
  }
}
