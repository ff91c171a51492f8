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
  readonly #kept: number
  #begin = 0
  /** How many of the samples that have left are still here, before the oldest. */
  #past = 0

  /**
   * @param initialCapacity what the first samples reserve
   * @param kept how many of the samples that have left can still be copied
   */
  constructor(initialCapacity: number, kept = 0) {
    this.#initialCapacity = initialCapacity + kept
    this.#kept = kept
  }

  /** Position of the oldest sample held. */
  get begin(): number {
    return this.#begin
  }

  /** Position behind the newest sample. */
  get end(): number {
    return this.#begin + this.#length - this.#past
  }

  /** A copy of the samples `[from, to)`, as far as they are here. */
  copy(from: number, to: number): Int16Array {
    const first = Math.max(from - this.#begin + this.#past, 0)
    const end = Math.min(to - this.#begin + this.#past, this.#length)
    return this.#copy(first, Math.max(end, first))
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
    const taken = this.#copy(this.#past, this.#past + count)
    this.#discard(count)
    return taken
  }

  discardBefore(position: number): void {
    this.#discard(this.#countBefore(position))
  }

  #countBefore(position: number): number {
    return Math.min(Math.max(position - this.#begin, 0), this.#length - this.#past)
  }

  #discard(count: number): void {
    this.#begin += count
    this.#past += count
    const forgotten = Math.max(this.#past - this.#kept, 0)
    this.#past -= forgotten
    this.#offset = (this.#offset + forgotten) % Math.max(this.#samples.length, 1)
    this.#length -= forgotten
  }

  /** The samples `[from, to)` of the ring, counted from its oldest, in a new array of some length. */
  #copy(from: number, to: number, length = to - from): Int16Array {
    const capacity = this.#samples.length
    const begin = this.#offset + from
    const end = this.#offset + to
    if (end <= capacity && length === to - from) return this.#samples.slice(begin, end)
    const copy = new Int16Array(length)
    if (begin < capacity) copy.set(this.#samples.subarray(begin, end))
    const wrapped = this.#samples.subarray(Math.max(begin - capacity, 0), Math.max(end - capacity, 0))
    copy.set(wrapped, to - from - wrapped.length)
    return copy
  }

  /** The size of the ring follows the need: it grows in proportion, and shrinks again. */
  #reserve(needed: number): void {
    const { length } = this.#samples
    const isOversized = length > Math.max(this.#initialCapacity, 5 * needed)
    if (needed <= length && !isOversized) return
    const capacity = needed <= this.#initialCapacity ? this.#initialCapacity : Math.ceil(1.25 * needed)
    this.#samples = this.#copy(0, this.#length, capacity)
    this.#offset = 0
  }
}
