/** The size of a block of memory: half a second of 16-bit audio at 16 kHz. */
const blockBytes = 16_384

/**
 * Stores a range of a stream in blocks of memory: bytes are appended at the end and released at the beginning.
 * Positions count from the first byte of the stream. A block is allocated for its first byte and released with its last
 * one, so bytes are never moved, and at most two blocks are only partly used. The owner limits the size.
 */
export class BlockBuffer {
  readonly #blocks: Uint8Array[] = []
  /** The number of the first block, counted from the first byte of the stream. */
  #firstBlock = 0
  /** The block that is being filled, and the position of its first byte. */
  #filling: Uint8Array | undefined
  #fillingFrom = 0
  #start = 0
  #end = 0

  /** The position of the first stored byte. */
  get start(): number {
    return this.#start
  }

  /** The position after the last byte. */
  get end(): number {
    return this.#end
  }

  /** Appends a copy, so the caller may reuse the array. */
  append(bytes: Uint8Array): void {
    const freeBytes = this.#fillingFrom + blockBytes - this.#end
    if (this.#filling !== undefined && bytes.length <= freeBytes) {
      this.#filling.set(bytes, this.#end - this.#fillingFrom)
      this.#end += bytes.length
    } else this.#addAcrossBlocks(bytes)
  }

  /** Advances the position without storing bytes; only while the buffer is empty. */
  skip(byteCount: number): void {
    this.#end += byteCount
    this.dropBefore(this.#end)
  }

  /** A copy of the bytes between two positions, which must all be stored. */
  slice(from: number, to: number): Uint8Array {
    const copy = new Uint8Array(to - from)
    for (let position = from; position < to;) {
      const at = position % blockBytes
      const part = Math.min(to - position, blockBytes - at)
      const block = this.#blocks[numberOf(position) - this.#firstBlock]
      if (block !== undefined) copy.set(block.subarray(at, at + part), position - from)
      position += part
    }
    return copy
  }

  /**
   * The first position from `from` on that `findIn` finds in the blocks; undefined if there is no match. Does not copy.
   */
  find(from: number, findIn: (bytes: Uint8Array) => number): number | undefined {
    for (let position = Math.max(from, this.#start); position < this.#end;) {
      const at = position % blockBytes
      const part = Math.min(this.#end - position, blockBytes - at)
      const found = findIn(this.#blocks[numberOf(position) - this.#firstBlock]?.subarray(at, at + part) ?? nothing)
      if (found !== -1) return position + found
      position += part
    }
    return undefined
  }

  /** Releases the bytes before a position. */
  dropBefore(position: number): void {
    this.#start = Math.min(Math.max(this.#start, position), this.#end)
    const firstBlock = numberOf(this.#start)
    if (firstBlock === this.#firstBlock) return
    for (const block of this.#blocks.splice(0, firstBlock - this.#firstBlock)) {
      if (spares.length < maxSpares) spares.push(block)
    }
    this.#firstBlock = firstBlock
    if (this.#blocks.length === 0) this.#filling = undefined
  }

  /** Removes the bytes from a position on. */
  dropAfter(position: number): void {
    this.#end = Math.max(this.#start, Math.min(this.#end, position))
    const used = Math.ceil(this.#end / blockBytes) - this.#firstBlock
    if (used >= this.#blocks.length) return
    this.#blocks.length = used
    this.#filling = undefined
  }

  /** Writes into as many blocks as needed. */
  #addAcrossBlocks(bytes: Uint8Array): void {
    for (let taken = 0; taken < bytes.length;) {
      const number = numberOf(this.#end)
      this.#filling = this.#blocks[number - this.#firstBlock] ??= spares.pop() ?? new Uint8Array(blockBytes)
      this.#fillingFrom = number * blockBytes
      const at = this.#end - this.#fillingFrom
      const part = bytes.subarray(taken, taken + blockBytes - at)
      this.#filling.set(part, at)
      taken += part.length
      this.#end += part.length
    }
  }
}

/** Released blocks for all sessions: new memory costs more than the copy into it. */
const spares: Uint8Array[] = []
/** 4 MiB. */
const maxSpares = 256

const nothing = new Uint8Array(0)

/** The number of the block that contains a position. */
const numberOf = (position: number): number => Math.floor(position / blockBytes)
