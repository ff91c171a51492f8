/** Below this a ring is not made smaller, in bytes. */
const leastBytes = 4_096

/**
 * The bytes of one stretch of a stream, in one block of memory: they are appended at its end and given up at its
 * beginning. Positions count from the first byte of the stream. The block doubles when it is full and halves when three
 * quarters of it are free, so it is never more than four times what it holds; who owns it keeps that bounded.
 */
export class AudioRing {
  #bytes = new Uint8Array(0)
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
    const needed = this.#end - this.#start + bytes.length
    if (needed > this.#bytes.length) this.#resize(needed)
    const capacity = this.#bytes.length
    const at = this.#end % capacity
    const first = capacity - at
    if (bytes.length <= first) this.#bytes.set(bytes, at)
    else {
      this.#bytes.set(bytes.subarray(0, first), at)
      this.#bytes.set(bytes.subarray(first), 0)
    }
    this.#end += bytes.length
  }

  /** Counts bytes that are not held, where nothing is. */
  skip(byteCount: number): void {
    this.#end += byteCount
    this.dropBefore(this.#end)
  }

  /** A copy of what stands from one position to another; both must be held. */
  slice(from: number, to: number): Uint8Array {
    const copy = new Uint8Array(to - from)
    this.#copy(from, copy)
    return copy
  }

  /** Gives up what stands before a position. */
  dropBefore(position: number): void {
    this.#start = Math.min(Math.max(this.#start, position), this.#end)
    const held = this.#end - this.#start
    if (this.#bytes.length > leastBytes && held * 4 <= this.#bytes.length) this.#resize(held)
  }

  /** Takes back what stands from a position on. */
  dropAfter(position: number): void {
    this.#end = Math.max(this.#start, Math.min(this.#end, position))
  }

  #resize(needed: number): void {
    let capacity = leastBytes
    while (capacity < needed) capacity *= 2
    if (capacity === this.#bytes.length) return
    const old = this.#bytes
    const bytes = new Uint8Array(capacity)
    // Stretch by stretch, each as long as neither block comes to its edge.
    for (let at = this.#start; at < this.#end;) {
      const from = at % old.length
      const to = at % capacity
      const length = Math.min(this.#end - at, old.length - from, capacity - to)
      bytes.set(old.subarray(from, from + length), to)
      at += length
    }
    this.#bytes = bytes
  }

  #copy(from: number, to: Uint8Array): void {
    if (to.length === 0) return
    const capacity = this.#bytes.length
    const at = from % capacity
    const first = Math.min(to.length, capacity - at)
    to.set(this.#bytes.subarray(at, at + first), 0)
    to.set(this.#bytes.subarray(0, to.length - first), first)
  }
}
