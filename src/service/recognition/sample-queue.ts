/**
 * The newest audio of one channel that no segment has taken yet, addressed by sample positions since the first sample.
 * It is the pre-speech ring and the withheld end of a segment in one: whoever keeps it says what may be forgotten.
 */
export class SampleQueue {
  private samples: Int16Array
  private offset = 0
  private length = 0
  private readonly initialCapacity: number
  private start = 0

  constructor(initialCapacity: number) {
    this.initialCapacity = initialCapacity
    this.samples = new Int16Array(initialCapacity)
  }

  /** Position of the oldest sample kept. */
  get begin(): number {
    return this.start
  }

  /** Position behind the newest sample. */
  get end(): number {
    return this.start + this.length
  }

  append(frame: Int16Array): void {
    if (this.offset + this.length + frame.length > this.samples.length) this.makeRoom(frame.length)
    this.samples.set(frame, this.offset + this.length)
    this.length += frame.length
  }

  /** Hands over a copy of what lies before `position`, and forgets it. */
  take(position: number): Int16Array {
    const count = this.countBefore(position)
    const taken = this.samples.slice(this.offset, this.offset + count)
    this.drop(count)
    return taken
  }

  forgetBefore(position: number): void {
    this.drop(this.countBefore(position))
  }

  private countBefore(position: number): number {
    return Math.min(Math.max(position - this.start, 0), this.length)
  }

  private drop(count: number): void {
    this.start += count
    this.offset += count
    this.length -= count
  }

  /** Moves the kept samples to the front, into an array whose size follows need: it grows by doubling and shrinks again. */
  private makeRoom(added: number): void {
    const needed = 2 * (this.length + added)
    const fits = needed <= this.samples.length
    const oversized = this.samples.length > Math.max(this.initialCapacity, 4 * needed)
    if (fits && !oversized) {
      this.samples.copyWithin(0, this.offset, this.offset + this.length)
    } else {
      const moved = new Int16Array(Math.max(this.initialCapacity, needed))
      moved.set(this.samples.subarray(this.offset, this.offset + this.length))
      this.samples = moved
    }
    this.offset = 0
  }
}
