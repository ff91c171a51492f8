/** The lowest and highest sample of each bin, -128 to 127. When all are used, pairs become one of double length. */
export class Peaks {
  readonly #low: Int8Array
  readonly #high: Int8Array
  readonly #sampleRateHz: number
  #samplesPerBin: number
  #bins = 0
  #samples = 0
  #binLow = 127
  #binHigh = -128
  #inBin = 0
  #loudest = 0

  /** @param maxBins even; the memory does not grow */
  constructor(sampleRateHz: number, maxBins = 131_072, binMs = 10) {
    this.#sampleRateHz = sampleRateHz
    this.#samplesPerBin = Math.max(1, Math.round((sampleRateHz * binMs) / 1000))
    this.#low = new Int8Array(maxBins)
    this.#high = new Int8Array(maxBins)
  }

  get durationMs(): number {
    return (this.#samples / this.#sampleRateHz) * 1000
  }

  get binMs(): number {
    return (this.#samplesPerBin / this.#sampleRateHz) * 1000
  }

  /** The largest distance from 0 so far, 0 to 128. */
  get loudest(): number {
    return this.#loudest
  }

  add(samples: Int16Array): void {
    this.#samples += samples.length
    for (const sample of samples) {
      const value = sample >> 8
      if (value < this.#binLow) this.#binLow = value
      if (value > this.#binHigh) this.#binHigh = value
      this.#inBin += 1
      if (this.#inBin >= this.#samplesPerBin) this.#endBin()
    }
  }

  /** The extremes between two positions; undefined where there is no audio. */
  between(fromMs: number, toMs: number): readonly [low: number, high: number] | undefined {
    const first = Math.max(0, Math.floor(fromMs / this.binMs))
    const end = Math.min(this.#bins, Math.max(first + 1, Math.ceil(toMs / this.binMs)))
    if (first >= end) return undefined
    let low = 127
    let high = -128
    for (let bin = first; bin < end; bin += 1) {
      low = Math.min(low, this.#low[bin] ?? 0)
      high = Math.max(high, this.#high[bin] ?? 0)
    }
    return [low, high]
  }

  #endBin(): void {
    if (this.#bins === this.#low.length) this.#halve()
    // After halving, a bin takes twice as many samples.
    if (this.#inBin < this.#samplesPerBin) return
    this.#loudest = Math.max(this.#loudest, this.#binHigh, -this.#binLow)
    this.#low[this.#bins] = this.#binLow
    this.#high[this.#bins] = this.#binHigh
    this.#bins += 1
    this.#inBin = 0
    this.#binLow = 127
    this.#binHigh = -128
  }

  #halve(): void {
    this.#bins /= 2
    this.#samplesPerBin *= 2
    for (let bin = 0; bin < this.#bins; bin += 1) {
      this.#low[bin] = Math.min(this.#low[2 * bin] ?? 0, this.#low[2 * bin + 1] ?? 0)
      this.#high[bin] = Math.max(this.#high[2 * bin] ?? 0, this.#high[2 * bin + 1] ?? 0)
    }
  }
}

/** Counts what happens in each tenth of a second; it grows by 10 bytes a second. */
export class Density {
  static readonly binMs = 100
  #counts = new Uint8Array(1024)

  add(atMs: number): void {
    const bin = Math.max(0, Math.floor(atMs / Density.binMs))
    if (bin >= this.#counts.length) {
      const grown = new Uint8Array(Math.max(bin + 1, this.#counts.length * 2))
      grown.set(this.#counts)
      this.#counts = grown
    }
    this.#counts[bin] = Math.min(255, (this.#counts[bin] ?? 0) + 1)
  }

  has(fromMs: number, toMs: number): boolean {
    const end = Math.ceil(toMs / Density.binMs)
    for (let bin = Math.max(0, Math.floor(fromMs / Density.binMs)); bin < end; bin += 1) {
      if ((this.#counts[bin] ?? 0) > 0) return true
    }
    return false
  }
}
