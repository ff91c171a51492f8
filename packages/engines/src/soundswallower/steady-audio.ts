import { decoderRateHz } from './package.js'

/** The decoders look at the audio every 10 ms. */
const hopSamples = decoderRateHz / 100
const preEmphasis = 0.97
/** The root mean square of the loudest frame, -14 dBFS. */
const loudestLevel = 0.2
/** The noise of a quiet line is this far below the power of the loudest frame, 45 dB. */
const loudestToNoise = 10 ** 4.5
/** Begin and end that are softer than the loudest frame by this, 40 dB, are cut to this number of frames. */
const loudestToEdge = 1e4
const edgeFrames = 25
/** The noise of a line is as loud as this part of the frames. */
const noisePart = 0.1
/** Single frames of a noise have less power than its mean. */
const quietestShare = 0.7

/** Audio for the decoders, whose frames begin with its first sample. */
export interface SteadyAudio {
  readonly samples: Float32Array
  /** The time that was left out before it, in whole milliseconds. */
  readonly skippedMs: number
}

const cycle = Float64Array.from({ length: hopSamples }, (_none, at) => (2 * Math.PI * at) / hopSamples)
const [cosines, sines] = [cycle.map(Math.cos), cycle.map(Math.sin)]

/**
 * Where frames begin, 0 to 79, by the loudest pulses of the voice: the phase of the squared energy in a cycle of 10 ms.
 * It moves with the audio, and little else moves it.
 */
const frameOffset = (samples: Int16Array): number => {
  let [real, imaginary, previous] = [0, 0, samples[0] ?? 0]
  for (const [at, sample] of samples.entries()) {
    const weight = (sample - preEmphasis * previous) ** 4
    real += weight * (cosines[at % hopSamples] ?? 0)
    imaginary += weight * (sines[at % hopSamples] ?? 0)
    previous = sample
  }
  const cycles = Math.atan2(imaginary, real) / (2 * Math.PI)
  return Math.round((cycles + 1) * hopSamples) % hopSamples
}

const powersOf = (samples: Int16Array): Float64Array =>
  Float64Array.from({ length: Math.floor(samples.length / hopSamples) }, (_none, frame) => {
    let sum = 0
    for (let at = frame * hopSamples; at < (frame + 1) * hopSamples; at += 1) sum += (samples[at] ?? 0) ** 2
    return sum / hopSamples
  })

/** Noise from -1 to 1 that depends only on the place. */
const noiseAt = (place: number): number => {
  let mixed = Math.imul(place ^ (place >>> 16), 0x7feb_352d)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x846c_a68b)
  return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 31 - 1
}

/**
 * Makes equal audio of a segment, wherever its speech lies between two frames and whatever its level: a reading could
 * have a confidence of 0.9 or of 0.4 by a shift of 1 ms. As far as the line has less noise than a quiet one, it gets
 * some, since the acoustic models are trained on speech with noise.
 */
export const steadyAudio = (segment: Int16Array): SteadyAudio => {
  const offset = segment.length < 2 * hopSamples ? 0 : frameOffset(segment)
  const powers = powersOf(segment.subarray(offset))
  const loudest = powers.reduce((most, power) => Math.max(most, power), 1)
  const isLoud = (power: number): boolean => power >= loudest / loudestToEdge
  const first = Math.max(powers.findIndex(isLoud) - edgeFrames, 0)
  const skipped = offset + first * hopSamples
  const samples = segment.subarray(skipped, offset + (powers.findLastIndex(isLoud) + 1 + edgeFrames) * hopSamples)
  const gain = loudestLevel / Math.sqrt(loudest)
  const floor = powers.toSorted()[Math.floor(powers.length * noisePart)] ?? 0
  const peak = Math.sqrt(3 * Math.max(loudest / loudestToNoise - floor / quietestShare, 0))
  const origin = (powers.indexOf(loudest) - first) * hopSamples
  return {
    samples: Float32Array.from(samples, (sample, at) => gain * (sample + peak * noiseAt(at - origin))),
    skippedMs: Math.round((1000 * skipped) / decoderRateHz),
  }
}
