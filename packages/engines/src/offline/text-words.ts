import { unspacedScript } from 'rxspeech/internal/protocol/unspaced-script'
import type { Reading } from './reader.js'

/** A word of a reading, as it stands in its text. Its times are samples since the begin of the segment. */
export interface TextWord {
  /** With the punctuation that belongs to it. */
  readonly text: string
  /** What separates it from the word before: a space, or nothing. */
  readonly space: '' | ' '
  /** What readings are compared by: without case and punctuation. Never empty. */
  readonly key: string
  /** Absent if the recognizer has no times. */
  readonly span?: SampleSpan | undefined
  /** 0 to 1; absent if the recognizer has none. */
  readonly confidence?: number | undefined
}

/** `[from, to)` in samples. */
export interface SampleSpan {
  readonly from: number
  readonly to: number
}

/** Descriptions of sounds, marks of music and of speakers, and tags of models. */
const described = /\[[^\]]*\]?|\([^)]*\)?|【[^】]*】?|（[^）]*）?|\*[^*]*\*|[♪♫][^♪♫]*[♪♫]?|<\|[^|]*\|>|>>/gu

/** The text with spaces in place of what is no speech, at the same positions. */
const withoutDescriptions = (text: string): string => text.replaceAll(described, (part) => ' '.repeat(part.length))

const keyOf = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}]+/gu, '')

type Piece = Omit<TextWord, 'key'>

/** Where the words of a text begin and end: at spaces, and in scripts without spaces at each character. */
const splitText = (text: string): readonly Piece[] =>
  text
    .split(/\s+/)
    .filter((part) => part !== '')
    .flatMap((part) => {
      const pieces = unspacedScript.test(part)
        ? [...new Intl.Segmenter().segment(part)].map(({ segment }) => segment)
        : [part]
      return pieces.map((piece, index): Piece => ({ text: piece, space: index === 0 ? ' ' : '' }))
    })

/** The words with times, each with the space and the punctuation that the text has around it. */
const placeWords = ({ text, words = [] }: Reading, samplesPerMs: number): readonly Piece[] => {
  let at = 0
  const starts = words.map((word) => {
    const start = text.indexOf(word.text.trim(), at)
    at = start < 0 ? Infinity : start + word.text.trim().length
    return start
  })
  const spoken = withoutDescriptions(text)
  // Words that are not those of the text: they are what has times.
  const isText = at !== Infinity
  return words.map(({ text: bare, startMs, endMs, confidence }, index): Piece => {
    const start = starts[index] ?? 0
    const shown = isText
      ? spoken.slice(start, starts[index + 1] ?? text.length).trim()
      : withoutDescriptions(bare).trim()
    const isSpaced = !isText || start === 0 || /\s/.test(text.charAt(start - 1))
    const from = Math.round(startMs * samplesPerMs)
    const span = { from, to: Math.max(from, Math.round(endMs * samplesPerMs)) }
    return { text: shown, space: isSpaced ? ' ' : '', span, confidence }
  })
}

/**
 * The words of a reading, without descriptions of sounds. Punctuation that stands alone belongs to the word before it,
 * or to the first one.
 */
export const wordsOf = (reading: Reading, samplesPerMs: number): readonly TextWord[] => {
  const hasTimes = reading.words !== undefined && reading.words.length > 0
  const words: TextWord[] = []
  let lead = ''
  for (const piece of hasTimes ? placeWords(reading, samplesPerMs) : splitText(withoutDescriptions(reading.text))) {
    const key = keyOf(piece.text)
    const last = words.at(-1)
    if (piece.text === '') continue
    if (key !== '') {
      words.push({ ...piece, text: lead + piece.text, key })
      lead = ''
    } else if (last === undefined) lead += piece.text
    else words[words.length - 1] = { ...last, text: last.text + piece.space + piece.text }
  }
  return words
}

export const joinWords = (words: readonly TextWord[]): string =>
  words.map(({ text, space }, index) => (index === 0 ? text : space + text)).join('')
