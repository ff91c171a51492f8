import type { RejectLevel } from 'rxspeech/internal/protocol/recognition-parameters'
import type { WordRatios } from './verifier.js'

/** How a word of a reading fits the audio. */
export interface WordFit {
  /** How long the word is, in frames of 10 ms. */
  readonly frames: number
  /** How many phones it has. */
  readonly phones: number
  /** Its acoustic score, which is 0 or less. */
  readonly score: number
}

/** Measures of how well a reading fits, from the reading alone. */
export interface ReadingFit {
  readonly words: readonly WordFit[]
  /** Frames of silence and noise between the first word and the last. */
  readonly innerSilence: number
  /** Frames that sound like speech and belong to no word. */
  readonly unread: number
}

/** Short words vary most, so as many frames without a score are added to each. */
const shortWordFrames = 5

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0)

/** Words of the grammar have about this many frames for each of their phones. */
const usualFramesPerPhone = 8

/** A word of one phone counts as one of two, the shortest of the fit. */
const leastPhones = 2

/** The features of a reading, in the order of their weights. The reading has a word. */
export const readingFeatures = ({ words, innerSilence, unread }: ReadingFit): readonly number[] => {
  const frames = sumOf(words.map((word) => word.frames))
  const phones = sumOf(words.map((word) => word.phones))
  const framesPerPhone = frames / phones
  const deviations = words.map((word) => Math.log(word.frames / (word.phones * framesPerPhone)))
  return [
    sumOf(words.map(({ score }) => score)) / frames,
    Math.min(...words.map((word) => word.score / (word.frames + shortWordFrames))),
    Math.sqrt(sumOf(deviations.map((value) => value * value)) / words.length),
    Math.abs(Math.log(framesPerPhone / usualFramesPerPhone)),
    innerSilence / frames,
    1 / Math.max(phones, leastPhones),
    unread / (unread + frames),
  ]
}

/** Runs of this many frames are compared: shorter ones vary too much, longer ones hide a word. */
const windowFrames = [40, 20]

/** The least mean of a run of frames. */
const leastMean = (ratios: readonly number[], length: number): number => {
  const count = Math.min(length, ratios.length)
  let sum = sumOf(ratios.slice(0, count))
  let least = sum
  for (let at = count; at < ratios.length; at += 1) {
    sum += (ratios[at] ?? 0) - (ratios[at - count] ?? 0)
    least = Math.min(least, sum)
  }
  return least / count
}

/** The features of a comparison with any phones, in the order of their weights. It has a word. */
export const comparedFeatures = (words: WordRatios): readonly number[] => {
  const ratios = words.flat()
  return [
    ...windowFrames.map((length) => leastMean(ratios, length)),
    sumOf(ratios) / ratios.length,
    Math.min(...words.map((word) => sumOf(word) / (word.length + shortWordFrames))),
  ]
}

/** A logistic model: a constant, and a weight for each feature. */
interface Weights {
  readonly constant: number
  readonly features: readonly number[]
}

// `bench/accuracy/fit-rejection.mjs` fits them to 785 readings of three grammars, of which 247 are right, by three
// voices of espeak-ng and two of flite on clean and noisy lines. They are those of the English model and of the beams
// of the decoders. `npm run accuracy -- rejection` measures them with other voices, and with a person.
const readingWeights: Weights = {
  constant: 7.6819,
  features: [0.0845, 0.0804, -1.1654, -0.5501, -9.0411, -6.3006, -10.6492],
}
const comparedWeights: Weights = {
  constant: 6.9346,
  features: [0.0583, 0.0141, -0.0016, 0.0481, 0.0775, 0.0062, -0.2206, 0.6583, -7.8485, -8.7199, -10.2739],
}

const logit = ({ constant, features: weights }: Weights, features: readonly number[]): number =>
  constant + sumOf(features.map((value, at) => value * (weights[at] ?? 0)))

const probability = (value: number): number => 1 / (1 + Math.exp(-value))

/** How likely a reading is right, 0 to 1, by itself. */
export const confidenceOfReading = (features: readonly number[]): number => probability(logit(readingWeights, features))

/** The same after the comparison with any phones. */
export const comparedConfidence = (reading: readonly number[], compared: readonly number[]): number =>
  probability(logit(comparedWeights, [...compared, ...reading]))

/** Between these a reading by itself decides nothing. */
const undecided = { above: 0.1, below: 0.9 }

/** Whether the confidence of a reading by itself decides at each level. */
export const isClear = (confidence: number): boolean => confidence < undecided.above || confidence > undecided.below

/** The least confidence that each level accepts. */
export const leastConfidence: Readonly<Record<RejectLevel, number>> = { off: 0, low: 0.25, medium: 0.5, high: 0.65 }
