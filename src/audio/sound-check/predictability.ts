import { aLawSamples, muLawSamples } from '../g711.js'

/** A way to read the bytes of a stream: the encodings, and PCM with the high byte first. */
export type Reading = 'pcm' | 'swapped' | 'ulaw' | 'alaw'

/** A part of a stream: interleaved channels, from one byte to another, whole frames of 16 bits. */
export interface Section {
  bytes: Uint8Array
  from: number
  to: number
  channels: number
}

/** How well a section of audio can be predicted from what precedes each sample. */
export interface Prediction {
  /** The mean square, without a constant offset. */
  power: number
  /** The gain of linear prediction from two samples, in dB: 0 for white noise, some 5 to 15 for speech. */
  gainDb: number
}

/** The sums of one channel, used within one call. */
const sums = { power: 0, once: 0, twice: 0 }

/**
 * Measures a section by one reading: each sample is predicted from the two before it of the same channel. Writes to
 * `result`, and allocates nothing.
 */
export const measurePrediction = (reading: Reading, section: Section, result: Prediction): void => {
  let [power, once, twice] = [0, 0, 0]
  for (let channel = 0; channel < section.channels; channel++) {
    addChannel(reading, section, channel)
    power += sums.power
    once += sums.once
    twice += sums.twice
  }
  result.power = power / countOf(reading, section)
  // Below, it is the rounding error of equal samples.
  result.gainDb = power < 0.5 ? 0 : gainOf(once / power, twice / power)
}

const sampleBytesOf = (reading: Reading): 1 | 2 => (reading === 'ulaw' || reading === 'alaw' ? 1 : 2)

const countOf = (reading: Reading, { from, to }: Section): number => (to - from) / sampleBytesOf(reading)

/** One pass: the mean is removed from the sums. */
const addChannel = (reading: Reading, { bytes, from, to, channels }: Section, channel: number): void => {
  const sampleBytes = sampleBytesOf(reading)
  const step = sampleBytes * channels
  const start = from + sampleBytes * channel
  const [first, second] = [sampleAt(reading, bytes, start), sampleAt(reading, bytes, start + step)]
  let sum = 0
  let squares = 0
  let once = 0
  let twice = 0
  let before = 0
  let beforeThat = 0
  if (sampleBytes === 1) {
    const table = reading === 'ulaw' ? muLawSamples() : aLawSamples()
    for (let at = start; at < to; at += step) {
      const sample = table[bytes[at] ?? 0] ?? 0
      sum += sample
      squares += sample * sample
      once += sample * before
      twice += sample * beforeThat
      beforeThat = before
      before = sample
    }
  } else {
    const high = reading === 'pcm' ? 1 : 0
    for (let at = start; at < to; at += step) {
      const sample = (((bytes[at + high] ?? 0) << 24) >> 16) | (bytes[at + 1 - high] ?? 0)
      sum += sample
      squares += sample * sample
      once += sample * before
      twice += sample * beforeThat
      beforeThat = before
      before = sample
    }
  }
  const frames = (to - from) / step
  const mean = sum / frames
  // Both factors of the products lack samples at one end.
  const [onceLacks, twiceLacks] = [first + before, first + second + before + beforeThat]
  sums.power = Math.max(squares - frames * mean * mean, 0)
  sums.once = once - mean * (2 * sum - onceLacks) + (frames - 1) * mean * mean
  sums.twice = twice - mean * (2 * sum - twiceLacks) + (frames - 2) * mean * mean
}

const sampleAt = (reading: Reading, bytes: Uint8Array, at: number): number => {
  if (reading === 'ulaw') return muLawSamples()[bytes[at] ?? 0] ?? 0
  if (reading === 'alaw') return aLawSamples()[bytes[at] ?? 0] ?? 0
  const high = reading === 'pcm' ? 1 : 0
  return (((bytes[at + high] ?? 0) << 24) >> 16) | (bytes[at + 1 - high] ?? 0)
}

/** From the normalized autocorrelation at one and two samples, by Levinson and Durbin. */
const gainOf = (once: number, twice: number): number => {
  const first = Math.max(1 - once * once, 1e-4)
  const second = (twice - once * once) / first
  return -10 * Math.log10(first * Math.max(1 - second * second, 1e-4))
}

/** The share of samples at either end of the range, or equal to the one before of the same channel. */
export const flatShare = (reading: Reading, section: Section): number => {
  const { bytes, from, to, channels } = section
  const sampleBytes = sampleBytesOf(reading)
  let flat = 0
  for (let channel = 0; channel < channels; channel++) {
    const start = from + sampleBytes * channel
    let before = sampleAt(reading, bytes, start)
    for (let at = start + sampleBytes * channels; at < to; at += sampleBytes * channels) {
      const sample = sampleAt(reading, bytes, at)
      if (sample === before || sample === 32_767 || sample === -32_768) flat += 1
      before = sample
    }
  }
  return flat / countOf(reading, section)
}
