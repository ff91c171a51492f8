import type { MilestoneEvent, Word } from 'rxspeech'

/** A word of the definitive text with the audio in which it is spoken. */
export interface CaptionWord {
  readonly text: string
  readonly startMs: number
  readonly endMs: number
  /** 0 to 1; absent if the service sends none. */
  readonly confidence?: number | undefined
  /** Where the times come from: the service, or an estimate from the partial results. */
  readonly times: 'service' | 'estimate'
  /** What was recognized, if a person has corrected the word. */
  readonly recognized?: string | undefined
}

/** The words of a partial result, and the end of the audio that the service had read. */
export interface PartialWords {
  readonly words: readonly string[]
  readonly endMs: number
}

export const splitWords = (text: string): readonly string[] => text.split(/\s+/u).filter((word) => word !== '')

/**
 * The words of a milestone. Without times from the service, a word ends where the first partial result ended that had
 * it and all words before it as they are in the definitive text; words that no partial had share the rest by their
 * length.
 */
export const wordsOf = (milestone: MilestoneEvent, partials: readonly PartialWords[]): readonly CaptionWord[] => {
  if (milestone.words !== undefined && milestone.words.length > 0) return milestone.words.map(ofService)
  const words = splitWords(milestone.text)
  const { startMs = 0, endMs = startMs, confidence } = milestone
  const ends = estimatedEnds(words, partials, startMs, endMs)
  return words.map((text, index) => ({
    text,
    startMs: index === 0 ? startMs : (ends[index - 1] ?? startMs),
    endMs: ends[index] ?? endMs,
    confidence,
    times: 'estimate',
  }))
}

const ofService = ({ text, startMs, endMs, confidence }: Word): CaptionWord => ({
  text: text.trim(),
  startMs,
  endMs,
  confidence,
  times: 'service',
})

const estimatedEnds = (
  words: readonly string[],
  partials: readonly PartialWords[],
  startMs: number,
  endMs: number,
): readonly number[] => {
  const known = words.map((_, index): number | undefined =>
    index === words.length - 1 ? endMs : partials.find((partial) => hasPrefix(partial.words, words, index + 1))?.endMs,
  )
  const ends: number[] = []
  for (let index = 0; index < words.length; index += 1) {
    const nextKnown = known.findIndex((end, at) => at >= index && end !== undefined)
    const from = ends.at(-1) ?? startMs
    const to = Math.min(endMs, Math.max(from, known[nextKnown] ?? endMs))
    const sharing = words.slice(index, nextKnown + 1)
    const characters = sharing.reduce((sum, { length }) => sum + length, 0)
    let passed = 0
    for (const word of sharing) {
      passed += word.length
      ends.push(from + ((to - from) * passed) / characters)
    }
    index = nextKnown
  }
  return ends
}

const hasPrefix = (words: readonly string[], expected: readonly string[], length: number): boolean =>
  words.length >= length && expected.slice(0, length).every((word, index) => word === words[index])
