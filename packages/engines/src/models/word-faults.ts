import { quoteText } from './decode-text.js'
import type { PhraseFault } from '../engine.js'

/** More are not listed. */
const maxFaults = 3

/**
 * The faults of phrases whose words an engine does not know: the first phrase of each such word.
 *
 * @param reasonOf the end of a sentence about such a word, such as `which is not in the dictionary`
 */
export const wordFaults = (
  phrases: readonly string[],
  isKnown: (word: string) => boolean,
  reasonOf: (word: string) => string,
): readonly PhraseFault[] => {
  const faults = new Map<string, PhraseFault>()
  for (const [index, phrase] of phrases.entries()) {
    for (const word of phrase.split(' ')) {
      if (faults.has(word) || isKnown(word)) continue
      faults.set(word, { index, reason: `has the word ${quoteText(word.slice(0, 40))}, ${reasonOf(word)}.` })
      if (faults.size === maxFaults) return [...faults.values()]
    }
  }
  return [...faults.values()]
}
