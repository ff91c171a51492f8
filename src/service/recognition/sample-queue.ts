/**
 * The newest samples of one channel that no segment has taken yet, addressed by their positions since the first sample.
 * It holds both the audio before a segment and the part of an open segment that may not leave yet; the reader decides what
 * is discarded.
 */
export class SampleQueue {
  #samples: Int16Array
  #offset = 0
  #length = 0
  readonly #initialCapacity: number
  #begin = 0

  constructor(initialCapacity: number) {
    this.#initialCapacity = initialCapacity
    this.#samples = new Int16Array(initialCapacity)
  }

  /** Position of the oldest sample held. */
  get begin(): number {
    return this.#begin
  }

  /** Position behind the newest sample. */
  get end(): number {
    return this.#begin + this.#length
  }

  append(frame: Int16Array): void {
    if (this.#offset + this.#length + frame.length > this.#samples.length) this.#reserve(frame.length)
    this.#samples.set(frame, this.#offset + this.#length)
    this.#length += frame.length
  }

  /** Removes the samples before `position` and returns a copy of them. */
  take(position: number): Int16Array {
    const count = this.#countBefore(position)
    const taken = this.#samples.slice(this.#offset, this.#offset + count)
    this.#discard(count)
    return taken
  }

  discardBefore(position: number): void {
    this.#discard(this.#countBefore(position))
  }

  #countBefore(position: number): number {
    return Math.min(Math.max(position - this.#begin, 0), this.#length)
  }

  #discard(count: number): void {
    this.#begin += count
    this.#offset += count
    this.#length -= count
  }

  /** Moves the samples to the front of an array whose size follows the need: it doubles, and shrinks again. */
  #reserve(added: number): void {
    const needed = 2 * (this.#length + added)
    const fits = needed <= this.#samples.length
    const isOversized = this.#samples.length > Math.max(this.#initialCapacity, 4 * needed)
    if (fits && !isOversized) {
      this.#samples.copyWithin(0, this.#offset, this.#offset + this.#length)
    } else {
      const moved = new Int16Array(Math.max(this.#initialCapacity, needed))
      moved.set(this.#samples.subarray(this.#offset, this.#offset + this.#length))
      this.#samples = moved
    }
    this.#offset = 0
  }
}
