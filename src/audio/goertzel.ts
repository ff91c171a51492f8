/** One bin of a Fourier transform: amplitude and phase of one frequency. */
export interface Bin {
  readonly real: number
  readonly imaginary: number
}

/**
 * The Fourier sum of samples at one frequency, by Goertzel's recursion (American Mathematical Monthly 65, 1958): one
 * multiplication a sample. Phases count from the first sample. A sine of amplitude 1 at that frequency gives a length of
 * half the sample count.
 */
export class Goertzel {
  readonly #coefficient: number
  readonly #cosine: number
  readonly #sine: number
  readonly #turn: number

  constructor(frequencyHz: number, sampleRateHz: number) {
    this.#turn = (2 * Math.PI * frequencyHz) / sampleRateHz
    this.#cosine = Math.cos(this.#turn)
    this.#sine = Math.sin(this.#turn)
    this.#coefficient = 2 * this.#cosine
  }

  /** Of `count` samples from `from` on. */
  sum(samples: Int16Array, from: number, count: number): Bin {
    const coefficient = this.#coefficient
    let last = 0
    let beforeLast = 0
    const end = from + count
    // By index: this runs for every sample and frequency.
    for (let index = from; index < end; index += 1) {
      const now = (samples[index] ?? 0) + coefficient * last - beforeLast
      beforeLast = last
      last = now
    }
    // The recursion ends with the phase of the last sample; it is turned back to the first.
    const real = last - this.#cosine * beforeLast
    const imaginary = this.#sine * beforeLast
    const back = this.#turn * (count - 1)
    const cosine = Math.cos(back)
    const sine = Math.sin(back)
    return { real: real * cosine + imaginary * sine, imaginary: imaginary * cosine - real * sine }
  }
}
