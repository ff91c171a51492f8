/** How well a section of audio can be predicted from what precedes each sample. */
export interface Prediction {
  /** The mean square, without a constant offset. */
  power: number
  /** The gain of linear prediction from two samples, in dB: 0 for white noise, some 5 to 15 for speech. */
  gainDb: number
}

/**
 * Measures samples of interleaved channels: each is predicted from the two before it of the same channel. Writes to
 * `result`, and allocates nothing.
 */
export const measurePrediction = (samples: Float64Array, count: number, channels: number, result: Prediction): void => {
  let power = 0
  let once = 0
  let twice = 0
  for (let channel = 0; channel < channels; channel++) {
    let sum = 0
    let frames = 0
    for (let i = channel; i < count; i += channels) {
      sum += samples[i] ?? 0
      frames += 1
    }
    const mean = sum / frames
    let before = 0
    let beforeThat = 0
    for (let i = channel; i < count; i += channels) {
      const sample = (samples[i] ?? 0) - mean
      power += sample * sample
      once += sample * before
      twice += sample * beforeThat
      beforeThat = before
      before = sample
    }
  }
  result.power = power / count
  result.gainDb = power === 0 ? 0 : gainOf(once / power, twice / power)
}

/** From the normalized autocorrelation at one and two samples, by Levinson and Durbin. */
const gainOf = (once: number, twice: number): number => {
  const first = Math.max(1 - once * once, 1e-4)
  const second = (twice - once * once) / first
  return -10 * Math.log10(first * Math.max(1 - second * second, 1e-4))
}
