/** 16-bit full scale. A sine at full scale has an RMS of −3.01 dBFS by it, a full-scale square wave of 0. */
const fullScale = 32_768
/** What silence is told as; no level is told lower. */
export const silenceDbfs = -100

/** How loud a stretch of one channel was, in dB of full scale, from −100 for silence to 0. */
export interface Level {
  readonly rmsDbfs: number
  readonly peakDbfs: number
}

const decibels = (share: number): number => Math.max(silenceDbfs, Math.min(0, 20 * Math.log10(share)))

/** Measures stretches of one channel, one after the other. */
export class LevelMeter {
  #squares = 0
  #peak = 0
  #count = 0

  /** Takes the samples at `first`, `first + step`, … before `end`: one channel of interleaved ones. */
  add(samples: Int16Array, first = 0, end = samples.length, step = 1): void {
    for (let index = first; index < end; index += step) {
      const magnitude = Math.abs(samples[index] ?? 0)
      if (magnitude > this.#peak) this.#peak = magnitude
      this.#squares += magnitude * magnitude
      this.#count += 1
    }
  }

  /** The level of all that was added since the last call; silence where that was nothing. */
  take(): Level {
    const rms = this.#count === 0 ? 0 : Math.sqrt(this.#squares / this.#count)
    const level = { rmsDbfs: decibels(rms / fullScale), peakDbfs: decibels(this.#peak / fullScale) }
    this.#squares = 0
    this.#peak = 0
    this.#count = 0
    return level
  }
}
