/**
 * The newest samples of one channel that no segment has taken yet, addressed by their positions since the first sample.
 * It holds both the audio before a segment and the part of an open segment that may not leave yet; the reader decides what
 * is discarded.
 */
export class SampleQueue {
  /** A ring: the oldest sample is at the offset, and the others follow, round the end. */
  #samples: Int16Array = new Int16Array(0)
  #offset = 0
  #length = 0
  readonly #initialCapacity: number
  #begin = 0

  /** @param initialCapacity what the first samples reserve */
  constructor(initialCapacity: number) {
    this.#initialCapacity = initialCapacity
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
    this.#reserve(this.#length + frame.length)
    const { length } = this.#samples
    const at = (this.#offset + this.#length) % Math.max(length, 1)
    const first = Math.min(frame.length, length - at)
    if (first === frame.length) this.#samples.set(frame, at)
    else {
      this.#samples.set(frame.subarray(0, first), at)
      this.#samples.set(frame.subarray(first), 0)
    }
    this.#length += frame.length
  }

  /** Removes the samples before `position` and returns a copy of them. */
  take(position: number): Int16Array {
    const count = this.#countBefore(position)
    const taken = this.#copy(count, count)
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
    this.#offset = (this.#offset + count) % Math.max(this.#samples.length, 1)
    this.#length -= count
  }

  /** The oldest `count` samples in a new array. */
  #copy(count: number, length: number): Int16Array {
    const end = this.#offset + count
    if (end <= this.#samples.length && count === length) return this.#samples.slice(this.#offset, end)
    const copy = new Int16Array(length)
    copy.set(this.#samples.subarray(this.#offset, end))
    const wrapped = end - this.#samples.length
    if (wrapped > 0) copy.set(this.#samples.subarray(0, wrapped), count - wrapped)
    return copy
  }

  /** The size of the ring follows the need: it grows in proportion, and shrinks again. */
  #reserve(needed: number): void {
    const { length } = this.#samples
    const isOversized = length > Math.max(this.#initialCapacity, 5 * needed)
    if (needed <= length && !isOversized) return
    const capacity = needed <= this.#initialCapacity ? this.#initialCapacity : Math.ceil(1.25 * needed)
    this.#samples = this.#copy(this.#length, capacity)
    this.#offset = 0
  }
}
