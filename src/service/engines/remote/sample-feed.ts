/** Samples that wait to be pulled, oldest first. Whoever pushes bounds them by what is told as pulled. */
export class SampleFeed {
  private readonly waiting: Int16Array[] = []
  private ended = false
  private wake: () => void = () => undefined

  /** `take` makes a message of samples that are pulled. */
  constructor(private readonly take: (samples: Int16Array) => Uint8Array) {}

  push(samples: Int16Array): void {
    if (this.ended) return
    this.waiting.push(samples)
    this.wake()
  }

  /** No more comes; what waits is still pulled. */
  end(): void {
    this.ended = true
    this.wake()
  }

  /** To be iterated once. */
  async *audio(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const samples = this.waiting.shift()
      if (samples !== undefined) yield this.take(samples)
      else if (this.ended) return
      else await new Promise<void>((resolve) => (this.wake = resolve))
    }
  }
}
