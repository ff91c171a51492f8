/**
 * The newest samples of one channel that no segment has taken yet, addressed by their positions since the first sample.
 * It holds the audio before a segment, the part of an open segment that may not leave yet, and what arrived ahead of
 * the decisions; the reader decides what is discarded.
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
  /** How many of the newest samples are ahead of the end. */
  #ahead = 0

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

  /** Position behind the newest sample that is not ahead. */
  get end(): number {
    return this.#begin + this.#length - this.#past - this.#ahead
  }

  /** How many samples are behind the end, and not yet part of the audio. */
  get ahead(): number {
    return this.#ahead
  }

  /** A copy of the samples `[from, to)`, as far as they are here. */
  copy(from: number, to: number): Int16Array {
    const first = Math.max(from - this.#begin + this.#past, 0)
    const end = Math.min(to - this.#begin + this.#past, this.#length - this.#ahead)
    return this.#copy(first, Math.max(end, first))
  }

  append(samples: Int16Array): void {
    this.appendAhead(samples)
    this.advance(samples.length)
  }

  /** Appends samples that `advance` makes part of the audio. */
  appendAhead(samples: Int16Array): void {
    this.#reserve(this.#length + samples.length)
    const { length } = this.#samples
    const at = (this.#offset + this.#length) % Math.max(length, 1)
    const first = Math.min(samples.length, length - at)
    if (first === samples.length) this.#samples.set(samples, at)
    else {
      this.#samples.set(samples.subarray(0, first), at)
      this.#samples.set(samples.subarray(first), 0)
    }
    this.#length += samples.length
    this.#ahead += samples.length
  }

  /** Copies the next samples behind the end, of which there must be as many. */
  readAhead(into: Int16Array): void {
    const from = this.#length - this.#ahead
    this.#write(from, from + into.length, into)
  }

  /** Moves the end over so many of the samples behind it. */
  advance(count: number): void {
    this.#ahead -= count
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
    return Math.min(Math.max(position - this.#begin, 0), this.#length - this.#past - this.#ahead)
  }

  #discard(count: number): void {
    this.#begin += count
    this.#past += count
    const forgotten = Math.max(this.#past - this.#kept, 0)
    this.#past -= forgotten
    this.#offset = (this.#offset + forgotten) % Math.max(this.#samples.length, 1)
    this.#length -= forgotten
  }

  /** The samples `[from, to)` of the ring, counted from its oldest, in a new array. */
  #copy(from: number, to: number): Int16Array {
    const begin = this.#offset + from
    const end = this.#offset + to
    return end <= this.#samples.length
      ? this.#samples.slice(begin, end)
      : this.#write(from, to, new Int16Array(to - from))
  }

  #write(from: number, to: number, into: Int16Array): Int16Array {
    const capacity = this.#samples.length
    const begin = this.#offset + from
    const end = this.#offset + to
    if (begin < capacity) into.set(this.#samples.subarray(begin, end))
    if (end > capacity) {
      const wrapped = this.#samples.subarray(Math.max(begin - capacity, 0), end - capacity)
      into.set(wrapped, to - from - wrapped.length)
    }
    return into
  }

  /** The size of the ring follows the need: it grows in proportion, and shrinks again. */
  #reserve(needed: number): void {
    const { length } = this.#samples
    const isOversized = length > Math.max(this.#initialCapacity, 5 * needed)
    if (needed <= length && !isOversized) return
    const capacity = needed <= this.#initialCapacity ? this.#initialCapacity : Math.ceil(1.25 * needed)
    this.#samples = this.#write(0, this.#length, new Int16Array(capacity))
    this.#offset = 0
  }
}
