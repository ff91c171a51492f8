import { saturated } from './gain.js'

/** How much of each side a mix holds: 1 is all of it. */
export interface MixWeights {
  readonly left: number
  readonly right: number
}

/** One channel of two equally long ones, held at full scale. */
export const mixToMono = (left: Int16Array, right: Int16Array, weights: MixWeights): Int16Array => {
  const mixed = new Int16Array(left.length)
  for (let i = 0; i < mixed.length; i++) {
    mixed[i] = saturated((left[i] ?? 0) * weights.left + (right[i] ?? 0) * weights.right)
  }
  return mixed
}

/** One channel of interleaved frames, left first, held at full scale. */
export const downmixFrames = (frames: Int16Array, weights: MixWeights): Int16Array => {
  const mixed = new Int16Array(frames.length >> 1)
  for (let i = 0; i < mixed.length; i++) {
    mixed[i] = saturated((frames[2 * i] ?? 0) * weights.left + (frames[2 * i + 1] ?? 0) * weights.right)
  }
  return mixed
}

/** Interleaved frames, left first, of two equally long channels, each by its weight and held at full scale. */
export const mixToStereo = (left: Int16Array, right: Int16Array, weights: MixWeights): Int16Array => {
  const frames = new Int16Array(2 * left.length)
  for (let i = 0; i < left.length; i++) {
    frames[2 * i] = saturated((left[i] ?? 0) * weights.left)
    frames[2 * i + 1] = saturated((right[i] ?? 0) * weights.right)
  }
  return frames
}
