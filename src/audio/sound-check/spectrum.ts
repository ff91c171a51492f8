/**
 * The spectra of two windows of real samples at a time, by one complex Fourier transform of a power of two. The arrays are
 * for the next call, so that it allocates nothing.
 */
export class SpectrumPair {
  readonly size: number
  readonly #window: Float64Array
  readonly #real: Float64Array
  readonly #imaginary: Float64Array
  readonly #cosines: Float64Array
  readonly #sines: Float64Array
  readonly #swaps: Uint16Array

  constructor(size: number) {
    this.size = size
    this.#window = Float64Array.from({ length: size }, (_none, i) => Math.sin((Math.PI * (i + 0.5)) / size) ** 2 / size)
    this.#real = new Float64Array(size)
    this.#imaginary = new Float64Array(size)
    this.#cosines = Float64Array.from({ length: size / 2 }, (_none, i) => Math.cos((2 * Math.PI * i) / size))
    this.#sines = Float64Array.from({ length: size / 2 }, (_none, i) => -Math.sin((2 * Math.PI * i) / size))
    this.#swaps = new Uint16Array(size)
    const bits = Math.log2(size)
    for (let i = 0; i < size; i++) {
      for (let bit = 0; bit < bits; bit++) {
        this.#swaps[i] = (this.#swaps[i] ?? 0) | (((i >> bit) & 1) << (bits - 1 - bit))
      }
    }
  }

  /** Transforms the Hann windows that begin at two positions. */
  transform(samples: Float64Array, first: number, second: number): void {
    for (let i = 0; i < this.size; i++) {
      const weight = this.#window[i] ?? 0
      const at = this.#swaps[i] ?? 0
      this.#real[at] = weight * (samples[first + i] ?? 0)
      this.#imaginary[at] = weight * (samples[second + i] ?? 0)
    }
    this.#combineFours()
    for (let half = 4; half < this.size; half *= 2) this.#combine(half)
  }

  /** The power in bins of one of the windows: the sum or the difference of each bin and the mirror image of its conjugate. */
  power(window: 'first' | 'second', from: number, to: number): number {
    const sign = window === 'first' ? 1 : -1
    let sum = 0
    for (let bin = from; bin < to; bin++) {
      const mirror = this.size - bin
      const real = (this.#real[bin] ?? 0) + sign * (this.#real[mirror] ?? 0)
      const imaginary = (this.#imaginary[bin] ?? 0) - sign * (this.#imaginary[mirror] ?? 0)
      sum += real * real + imaginary * imaginary
    }
    return sum
  }

  /** The transforms of four neighbors each, whose factors are 1 and -i. */
  #combineFours(): void {
    const [reals, imaginaries] = [this.#real, this.#imaginary]
    for (let at = 0; at < this.size; at += 4) {
      const [r0, r1, r2, r3] = [reals[at] ?? 0, reals[at + 1] ?? 0, reals[at + 2] ?? 0, reals[at + 3] ?? 0]
      const [i0, i1] = [imaginaries[at] ?? 0, imaginaries[at + 1] ?? 0]
      const [i2, i3] = [imaginaries[at + 2] ?? 0, imaginaries[at + 3] ?? 0]
      reals[at] = r0 + r1 + r2 + r3
      imaginaries[at] = i0 + i1 + i2 + i3
      reals[at + 1] = r0 - r1 + i2 - i3
      imaginaries[at + 1] = i0 - i1 - r2 + r3
      reals[at + 2] = r0 + r1 - r2 - r3
      imaginaries[at + 2] = i0 + i1 - i2 - i3
      reals[at + 3] = r0 - r1 - i2 + i3
      imaginaries[at + 3] = i0 - i1 + r2 - r3
    }
  }

  /** Joins the transforms of neighbors of `half` numbers to those of twice as many. */
  #combine(half: number): void {
    const [reals, imaginaries, cosines, sines] = [this.#real, this.#imaginary, this.#cosines, this.#sines]
    const turn = this.size / (2 * half)
    for (let start = 0; start < this.size; start += 2 * half) {
      for (let k = 0; k < half; k++) {
        const cosine = cosines[k * turn] ?? 0
        const sine = sines[k * turn] ?? 0
        const top = start + k
        const bottom = top + half
        const real = reals[bottom] ?? 0
        const imaginary = imaginaries[bottom] ?? 0
        const turnedReal = real * cosine - imaginary * sine
        const turnedImaginary = real * sine + imaginary * cosine
        const topReal = reals[top] ?? 0
        const topImaginary = imaginaries[top] ?? 0
        reals[bottom] = topReal - turnedReal
        imaginaries[bottom] = topImaginary - turnedImaginary
        reals[top] = topReal + turnedReal
        imaginaries[top] = topImaginary + turnedImaginary
      }
    }
  }
}

const pairs = new Map<number, SpectrumPair>()

/** The one for a size, which all callers share: they use it within one call. */
export const spectrumPair = (size: number): SpectrumPair => {
  const pair = pairs.get(size) ?? new SpectrumPair(size)
  pairs.set(size, pair)
  return pair
}
