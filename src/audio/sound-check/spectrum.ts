/**
 * The spectra of two windows of real samples at a time, by one complex Fourier transform of a power of two. The arrays
 * are for the next call, so that it allocates nothing.
 */
export class SpectrumPair {
  readonly size: number
  readonly #window: Float64Array
  readonly #real: Float64Array
  readonly #imag: Float64Array
  readonly #cosines: Float64Array
  readonly #sines: Float64Array
  readonly #swaps: Uint16Array

  constructor(size: number) {
    this.size = size
    this.#window = Float64Array.from({ length: size }, (_none, i) => Math.sin((Math.PI * (i + 0.5)) / size) ** 2 / size)
    this.#real = new Float64Array(size)
    this.#imag = new Float64Array(size)
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
  transform(samples: Int16Array, first: number, second: number): void {
    const [real, imag] = [this.#real, this.#imag]
    for (let i = 0; i < this.size; i++) {
      const weight = this.#window[i] ?? 0
      const at = this.#swaps[i] ?? 0
      real[at] = weight * (samples[first + i] ?? 0)
      imag[at] = weight * (samples[second + i] ?? 0)
    }
    let length = 1
    if (Math.log2(this.size) % 2 === 1) length = this.#combineTwos()
    for (; length < this.size; length *= 4) this.#combine(length)
  }

  /** The power in bins of one window: the sum or the difference of each bin and its mirrored conjugate. */
  power(window: 'first' | 'second', from: number, to: number): number {
    const sign = window === 'first' ? 1 : -1
    let sum = 0
    for (let bin = from; bin < to; bin++) {
      const mirror = this.size - bin
      const real = (this.#real[bin] ?? 0) + sign * (this.#real[mirror] ?? 0)
      const imaginary = (this.#imag[bin] ?? 0) - sign * (this.#imag[mirror] ?? 0)
      sum += real * real + imaginary * imaginary
    }
    return sum
  }

  /** Makes the transforms of two neighbors each; returns their length. */
  #combineTwos(): number {
    for (const part of [this.#real, this.#imag]) {
      for (let at = 0; at < this.size;) {
        const a = part[at] ?? 0
        const b = part[at + 1] ?? 0
        part[at++] = a + b
        part[at++] = a - b
      }
    }
    return 2
  }

  /** Joins the transforms of four neighbors of `length` numbers to those of four times as many. */
  #combine(length: number): void {
    const [real, imag, cosines, sines] = [this.#real, this.#imag, this.#cosines, this.#sines]
    const { size } = this
    const turn = size / (4 * length)
    for (let k = 0; k < length; k++) {
      const c1 = cosines[k * turn] ?? 0
      const s1 = sines[k * turn] ?? 0
      const c2 = cosines[2 * k * turn] ?? 0
      const s2 = sines[2 * k * turn] ?? 0
      for (let a = k; a < size; a += 4 * length) {
        const b = a + length
        const c = b + length
        const d = c + length
        const x1 = real[b] ?? 0
        const y1 = imag[b] ?? 0
        const x3 = real[d] ?? 0
        const y3 = imag[d] ?? 0
        const r1 = x1 * c2 - y1 * s2
        const i1 = x1 * s2 + y1 * c2
        const r3 = x3 * c2 - y3 * s2
        const i3 = x3 * s2 + y3 * c2
        const r0 = real[a] ?? 0
        const i0 = imag[a] ?? 0
        const r2 = real[c] ?? 0
        const i2 = imag[c] ?? 0
        const p = (r2 + r3) * c1 - (i2 + i3) * s1
        const q = (r2 + r3) * s1 + (i2 + i3) * c1
        // A quarter of a turn further.
        const u = (r2 - r3) * s1 + (i2 - i3) * c1
        const v = (i2 - i3) * s1 - (r2 - r3) * c1
        real[a] = r0 + r1 + p
        imag[a] = i0 + i1 + q
        real[c] = r0 + r1 - p
        imag[c] = i0 + i1 - q
        real[b] = r0 - r1 + u
        imag[b] = i0 - i1 + v
        real[d] = r0 - r1 - u
        imag[d] = i0 - i1 - v
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
