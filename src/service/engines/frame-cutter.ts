/**
 * Cuts audio into hops of one length, whatever the chunks it came in, so that what a decoder says depends on the
 * samples alone. A hop's memory is used again: whoever keeps it copies it.
 */
export class HopCutter {
  private readonly hop: Int16Array
  private filled = 0

  constructor(
    hopSamples: number,
    private readonly take: (hop: Int16Array) => void,
  ) {
    this.hop = new Int16Array(hopSamples)
  }

  write(samples: Int16Array): void {
    for (let at = 0; at < samples.length;) {
      const part = samples.subarray(at, at + this.hop.length - this.filled)
      this.hop.set(part, this.filled)
      this.filled += part.length
      at += part.length
      if (this.filled === this.hop.length) this.flush()
    }
  }

  /** Hands on what is left, if anything is: a shorter hop. */
  flush(): void {
    const { filled } = this
    this.filled = 0
    if (filled > 0) this.take(this.hop.subarray(0, filled))
  }
}
