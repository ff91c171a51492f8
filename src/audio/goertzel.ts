/** One bin of a Fourier transform: the amplitude and phase of one frequency. */
export interface Bin {
  readonly real: number
  readonly imaginary: number
}

/**
 * Computes the Fourier sum of samples at one frequency with Goertzel's recursion (American Mathematical Monthly 65, 1958),
 * which needs one multiplication per sample. Phases are relative to the first sample. For a sine of amplitude 1 at that
 * frequency the magnitude is half the sample count.
 */
export class Goertzel {
  readonly #coefficient: number
  readonly #cosine: number
  readonly #sine: number
  readonly #backCosine: number
  readonly #backSine: number
  readonly #count: number

  /** @param count samples of each sum */
  constructor(frequencyHz: number, sampleRateHz: number, count: number) {
    const turn = (2 * Math.PI * frequencyHz) / sampleRateHz
    this.#cosine = Math.cos(turn)
    this.#sine = Math.sin(turn)
    this.#coefficient = 2 * this.#cosine
    // The recursion ends with the phase of the last sample; rotate it back to the first.
    this.#backCosine = Math.cos(turn * (count - 1))
    this.#backSine = Math.sin(turn * (count - 1))
    this.#count = count
  }

  /** The sum of the samples from `from` on. */
  sum(samples: Int16Array, from: number): Bin {
    const coefficient = this.#coefficient
    let last = 0
    let beforeLast = 0
    const end = from + this.#count
    // Hot path: runs for every sample and frequency.
    for (let index = from; index < end; index += 1) {
      const now = (samples[index] ?? 0) + coefficient * last - beforeLast
      beforeLast = last
      last = now
    }
    const real = last - this.#cosine * beforeLast
    const imaginary = this.#sine * beforeLast
    return {
      real: real * this.#backCosine + imaginary * this.#backSine,
      imaginary: imaginary * this.#backCosine - real * this.#backSine,
    }
  }
}
