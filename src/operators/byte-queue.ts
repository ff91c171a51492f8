/** Bytes in order, taken in any lengths. Slices are held by reference until they are used up; the caller bounds them. */
export class ByteQueue {
  #slices: Uint8Array[] = []
  /** Bytes of the first slice that are used up. */
  #offset = 0
  #size = 0

  get size(): number {
    return this.#size
  }

  add(slice: Uint8Array): void {
    if (slice.byteLength === 0) return
    this.#slices.push(slice)
    this.#size += slice.byteLength
  }

  /** The next `byteCount` bytes, at most `size`: a view where one slice holds them, so read it before it is kept. */
  take(byteCount: number): Uint8Array {
    const first = this.#slices[0]
    if (first !== undefined && first.byteLength - this.#offset >= byteCount) {
      return this.#advance(first, byteCount)
    }
    const bytes = new Uint8Array(byteCount)
    for (let filled = 0; filled < byteCount;) {
      const slice = this.#slices[0]
      if (slice === undefined) return bytes.subarray(0, filled)
      const part = this.#advance(slice, Math.min(byteCount - filled, slice.byteLength - this.#offset))
      bytes.set(part, filled)
      filled += part.byteLength
    }
    return bytes
  }

  #advance(slice: Uint8Array, byteCount: number): Uint8Array {
    const part = slice.subarray(this.#offset, this.#offset + byteCount)
    this.#offset += byteCount
    this.#size -= byteCount
    if (this.#offset === slice.byteLength) {
      this.#slices.shift()
      this.#offset = 0
    }
    return part
  }
}
