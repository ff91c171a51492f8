import type { DecodedWord } from '../decoded-words.js'
import { decoderRateHz } from './package.js'

const frameSamples = decoderRateHz / 100
/** Around a word this many frames belong to it, since its times are not exact. */
const marginFrames = 5
/** A frame is as loud as speech above this part of the mean power of the words, -15 dB, and of the noise, 8 dB. */
const loudAsWords = 10 ** -1.5
const louderThanNoise = 10 ** 0.8
/** The noise is as loud as this part of the frames. */
const noisePart = 0.1
/** Shorter sounds are clicks and breaths. */
const leastRunFrames = 4

/** The power of each frame, without the constant offset that some lines add. */
const powersOf = (samples: Float32Array): Float64Array => {
  const offset = samples.reduce((sum, sample) => sum + sample, 0) / Math.max(samples.length, 1)
  return Float64Array.from({ length: Math.floor(samples.length / frameSamples) }, (_none, at) => {
    let sum = 0
    for (let index = at * frameSamples; index < (at + 1) * frameSamples; index += 1) {
      sum += ((samples[index] ?? 0) - offset) ** 2
    }
    return sum / frameSamples
  })
}

/**
 * The frames of 10 ms that sound like speech and belong to none of the spoken words of a reading. A decoder takes what
 * its grammar has no word for as silence or noise, and may read the word that is left with a good fit.
 */
export const unreadFrames = (words: readonly DecodedWord[], samples: Float32Array): number => {
  const powers = powersOf(samples)
  const isWord = new Uint8Array(powers.length)
  const isNearWord = new Uint8Array(powers.length)
  for (const { startMs, endMs } of words) {
    const [start, end] = [Math.round(startMs / 10), Math.round(endMs / 10)]
    isWord.fill(1, start, end)
    isNearWord.fill(1, Math.max(start - marginFrames, 0), end + marginFrames)
  }
  const ofWords = powers.filter((_power, at) => isWord[at] === 1)
  const wordPower = ofWords.reduce((sum, power) => sum + power, 0) / Math.max(ofWords.length, 1)
  const noisePower = powers.toSorted()[Math.floor(powers.length * noisePart)] ?? 0
  const least = Math.max(wordPower * loudAsWords, noisePower * louderThanNoise)
  let [count, run] = [0, 0]
  for (const [at, power] of powers.entries()) {
    run = isNearWord[at] === 0 && power > least ? run + 1 : 0
    if (run === leastRunFrames) count += run
    else if (run > leastRunFrames) count += 1
  }
  return count
}
