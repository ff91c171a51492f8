/** The amplitude factor of a gain in decibels. */
export const gainFactor = (gainDb: number): number => 10 ** (gainDb / 20)

/** Rounds to a 16-bit sample and clips at full scale. */
const clip = (value: number): number => Math.round(Math.min(Math.max(value, -32_768), 32_767))

/** Multiplies the samples by `factor` and clips at full scale. Returns a new array. */
export const amplify = (samples: Int16Array, factor: number): Int16Array => {
  const amplified = new Int16Array(samples.length)
  for (let i = 0; i < amplified.length; i++) amplified[i] = clip((samples[i] ?? 0) * factor)
  return amplified
}

/** The amplitude factors of the two channels in a mix. */
export interface MixWeights {
  readonly left: number
  readonly right: number
}

/** Mixes two channels of equal length into one and clips at full scale. */
export const mixToMono = (left: Int16Array, right: Int16Array, weights: MixWeights): Int16Array => {
  const mixed = new Int16Array(left.length)
  for (let i = 0; i < mixed.length; i++) {
    mixed[i] = clip((left[i] ?? 0) * weights.left + (right[i] ?? 0) * weights.right)
  }
  return mixed
}

/** Mixes interleaved frames, left first, into one channel and clips at full scale. */
export const downmixFrames = (frames: Int16Array, weights: MixWeights): Int16Array => {
  const mixed = new Int16Array(frames.length >> 1)
  for (let i = 0; i < mixed.length; i++) {
    mixed[i] = clip((frames[2 * i] ?? 0) * weights.left + (frames[2 * i + 1] ?? 0) * weights.right)
  }
  return mixed
}

/** Interleaves two channels of equal length, left first, each with its weight, and clips at full scale. */
export const mixToStereo = (left: Int16Array, right: Int16Array, weights: MixWeights): Int16Array => {
  const frames = new Int16Array(2 * left.length)
  for (let i = 0; i < left.length; i++) {
    frames[2 * i] = clip((left[i] ?? 0) * weights.left)
    frames[2 * i + 1] = clip((right[i] ?? 0) * weights.right)
  }
  return frames
}
