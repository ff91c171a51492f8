import { isSpoken, type DecodedWord } from '../decoded-words.js'
import { comparedFeatures, readingFeatures, type ReadingFit } from './confidence.js'
import { alignedScore, type Decoder } from './package.js'
import type { RatedReading } from './segment-decoder.js'
import { unreadFrames } from './unread-speech.js'
import type { Verifier } from './verifier.js'

/** The phones of a word in the dictionary of a decoder. */
const phonesOf = (decoder: Decoder, word: string): readonly string[] => decoder.lookup_word(word)?.split(' ') ?? []

const framesOf = ({ startMs, endMs }: DecodedWord): number => Math.max(Math.round((endMs - startMs) / 10), 1)

/** How the words of a reading fit. It has a word. */
export const fitOf = (
  { words, samples }: Pick<RatedReading, 'words' | 'samples'>,
  phoneCount: (word: string) => number,
): ReadingFit => {
  const spoken = words.filter(({ text }) => isSpoken(text))
  const inner = words.slice(
    words.findIndex(({ text }) => isSpoken(text)),
    words.findLastIndex(({ text }) => isSpoken(text)),
  )
  const silences = inner.filter(({ text }) => !isSpoken(text) && text !== '(NULL)')
  return {
    words: spoken.map((word) => ({
      frames: framesOf(word),
      phones: Math.max(phoneCount(word.text), 1),
      score: alignedScore({ p: word.posterior }),
    })),
    innerSilence: silences.reduce((sum, silence) => sum + framesOf(silence), 0),
    unread: samples === undefined ? 0 : unreadFrames(spoken, samples),
  }
}

/** Measures of a reading, from that decoder alone. */
export const featuresOf = (decoder: Decoder, reading: Pick<RatedReading, 'words' | 'samples'>): readonly number[] =>
  readingFeatures(fitOf(reading, (word) => phonesOf(decoder, word).length))

/** The audio around the words that is compared with them. The decoders learn the noise of the line from it. */
const marginMs = 200

/** The score against the free-phone decoder; undefined if that did not run. */
export const compareWith = async (
  verifier: Pick<Verifier, 'compare'>,
  decoder: Decoder,
  { words, isIncomplete, cepstralMean, decode }: RatedReading,
): Promise<readonly number[] | undefined> => {
  const spoken = words.filter(({ text }) => isSpoken(text))
  const [first, last] = [spoken[0], spoken.at(-1)]
  if (cepstralMean === undefined || first === undefined || last === undefined) return undefined
  // Where a sentence was cut, the beginning of its next word follows, which does not belong to these words.
  const endMs = last.endMs + (isIncomplete ? 0 : marginMs)
  const ratios = await verifier.compare(
    spoken.map(({ text }) => phonesOf(decoder, text)),
    cepstralMean,
    (other) => decode(other, Math.max(first.startMs - marginMs, 0), endMs),
  )
  return ratios && comparedFeatures(ratios)
}
