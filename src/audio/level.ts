/** 16-bit full scale. The RMS of a full-scale sine is −3.01 dBFS, that of a full-scale square wave 0. */
const fullScale = 32_768
/** The level of silence, which is the lowest level reported. */
const silenceDbfs = -100

/** The level of a section of one channel in dB of full scale, from −100 for silence to 0. */
export interface Level {
  readonly rmsDbfs: number
  readonly peakDbfs: number
}

const decibels = (share: number): number => Math.max(silenceDbfs, Math.min(0, 20 * Math.log10(share)))

/** Measures consecutive sections of one channel. */
export class LevelMeter {
  #squares = 0
  #peak = 0
  #count = 0

  /** Adds the samples at `first`, `first + step`, … before `end`, which are one channel of interleaved samples. */
  add(samples: Int16Array, first = 0, end = samples.length, step = 1): void {
    for (let index = first; index < end; index += step) {
      const magnitude = Math.abs(samples[index] ?? 0)
      if (magnitude > this.#peak) this.#peak = magnitude
      this.#squares += magnitude * magnitude
      this.#count += 1
    }
  }

  /** The level of the samples added since the last call; silence if there were none. */
  take(): Level {
    const rms = this.#count === 0 ? 0 : Math.sqrt(this.#squares / this.#count)
    const level = { rmsDbfs: decibels(rms / fullScale), peakDbfs: decibels(this.#peak / fullScale) }
    this.#squares = 0
    this.#peak = 0
    this.#count = 0
    return level
  }
}
