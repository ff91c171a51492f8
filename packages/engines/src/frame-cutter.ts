/**
 * Cuts audio into frames of one length, whatever the length of its chunks, so that results depend on the samples alone.
 * The memory of a frame is reused: a consumer that stores a frame must copy it.
 */
export class FrameCutter {
  readonly #frame: Int16Array
  readonly #onFrame: (frame: Int16Array) => void
  #filled = 0

  constructor(frameSamples: number, onFrame: (frame: Int16Array) => void) {
    this.#frame = new Int16Array(frameSamples)
    this.#onFrame = onFrame
  }

  write(samples: Int16Array): void {
    for (let at = 0; at < samples.length;) {
      const part = samples.subarray(at, at + this.#frame.length - this.#filled)
      this.#frame.set(part, this.#filled)
      this.#filled += part.length
      at += part.length
      if (this.#filled === this.#frame.length) this.flush()
    }
  }

  /** Emits the rest, if there is any, as a shorter frame. */
  flush(): void {
    const filled = this.#filled
    this.#filled = 0
    if (filled > 0) this.#onFrame(this.#frame.subarray(0, filled))
  }
}
