import { shareLeftBy, type Prediction } from './tone-test.js'

/**
 * A frame is compared with those 40 and 50 ms before: two tones that beat, as ringing tones do, look the same after one
 * of both.
 */
const distances = [4, 5]
const kept = Math.max(...distances) + 1
/** Frames of a mean: a single frame is too noisy. */
const meanFrames = 4
const maxChangeDb = 6

/**
 * How fast the spectrum of a sound changes: how much more than the predictor of a frame the predictors of earlier
 * frames leave of it. That is several dB for a voice, and less than one for tones and noise, however soft they are.
 */
export class SpectrumChange {
  #predictors: readonly Float64Array[] = []
  #changesDb: readonly number[] = []

  /** The mean change over the last frames in dB; 0 as long as there are too few. */
  get meanDb(): number {
    if (this.#changesDb.length < meanFrames) return 0
    return this.#changesDb.reduce((sum, changeDb) => sum + changeDb, 0) / meanFrames
  }

  observe(samples: Int16Array, { share, coefficients }: Prediction): void {
    this.#predictors = [...this.#predictors, coefficients].slice(-kept)
    if (this.#predictors.length < kept) return
    let changeDb = maxChangeDb
    for (const distance of distances) {
      const earlier = this.#predictors[kept - 1 - distance] ?? coefficients
      changeDb = Math.min(changeDb, 10 * Math.log10(shareLeftBy(earlier, samples) / Math.max(share, 1e-9)))
    }
    this.#changesDb = [...this.#changesDb, changeDb].slice(-meanFrames)
  }

  reset(): void {
    this.#predictors = []
    this.#changesDb = []
  }
}
