import { decoderRateHz } from './package.js'

/** The power of the noise of a quiet line, in steps of a sample squared: -60 dBFS. */
const quietLinePower = 972
/**
 * Soft speech has softer noise: its loudest block has this many times the power, 36 dB. Louder noise would hide a part
 * of its words.
 */
const loudestToNoise = 4000
/** The loudest block counts as no softer than this, -50 dBFS, so that there is noise before the first word. */
const leastLoudestPower = 10_000
const blockSamples = decoderRateHz / 100
/** The quietest block of a noise has at least this part of its power. */
const quietestShare = 0.5

const powerOf = (samples: Int16Array): number =>
  samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length

/**
 * Gives a segment the noise of a quiet line as far as it has less, or less noise if its speech is soft. The acoustic
 * models are trained on speech with noise: without noise, as in synthetic speech or where a line sends zeros in pauses,
 * right sentences fit badly. The results of equal segments are equal.
 */
export class ComfortNoise {
  /** The power of the quietest and of the loudest block so far. */
  #floor = Infinity
  #loudest = leastLoudestPower
  #random = 1

  /** The next samples of the segment, with noise. */
  fill(samples: Int16Array): Int16Array {
    for (let at = 0; at + blockSamples <= samples.length; at += blockSamples) {
      const power = powerOf(samples.subarray(at, at + blockSamples))
      this.#floor = Math.min(this.#floor, power)
      this.#loudest = Math.max(this.#loudest, power)
    }
    const wantedPower = Math.min(quietLinePower, this.#loudest / loudestToNoise)
    const missingPower = wantedPower - this.#floor / quietestShare
    if (missingPower <= 0) return samples
    const peak = Math.sqrt(3 * missingPower)
    return samples.map((sample) => {
      // A linear congruential generator.
      this.#random = (Math.imul(this.#random, 1_664_525) + 1_013_904_223) >>> 0
      const noise = Math.round(peak * (this.#random / 2 ** 31 - 1))
      return Math.max(-32_768, Math.min(32_767, sample + noise))
    })
  }
}
