import { foldCase } from 'rxspeech/internal/protocol/fold-words'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { unspacedScript } from 'rxspeech/internal/protocol/unspaced-script'

/** A word that was said, beside the word that was read for it; undefined where one of both is missing. */
export interface AlignedWords {
  readonly said?: string | undefined
  readonly read?: string | undefined
}

/** How a transcript differs from what was said, in words. */
export interface WordErrors {
  /** The words that were said. */
  readonly words: number
  readonly right: number
  readonly substituted: number
  readonly inserted: number
  readonly deleted: number
}

/** The word error rate: errors per word that was said, which exceeds 1 for many inserted words. */
export const wordErrorRate = ({ words, substituted, inserted, deleted }: WordErrors): number => {
  const errors = substituted + inserted + deleted
  return errors === 0 ? 0 : errors / words
}

/** Letter case and punctuation do not count. */
const plain = (word: string): string => foldCase(word).replaceAll(/[^\p{L}\p{M}\p{N}]/gu, '')

/** Spaces and dashes, and other punctuation that ends a word where another one begins without a space. */
const separator = /\s+|[–—―]+|(?:[,;:!?…/]|\.{2,})(?=\p{L})/u

/** A character of a script without spaces between words, with its marks, or anything between such characters. */
const unspaced = new RegExp(`${unspacedScript.source}\\p{M}*|(?:(?!${unspacedScript.source})[^])+`, 'gu')

/**
 * The words of a text that are more than punctuation. Hyphens, apostrophes and single dots belong to a word. In scripts
 * that write no spaces between words, such as those of Japanese, Chinese and Thai, each character is one.
 */
export const comparedWords = (text: string): readonly string[] =>
  text
    .split(separator)
    .flatMap((word) => (unspacedScript.test(word) ? (word.normalize('NFKC').match(unspaced) ?? []) : [word]))
    .filter((word) => plain(word) !== '')

/** Of two alignments with as few changes, the one counts that has more right words. */
const change = 2 ** 20
const substitution = change + 1

/** Which step leads to a cell: both words, the said word alone, or the read word alone. */
const both = 0
const saidOnly = 1
const readOnly = 2

/** The table of steps has a byte for each pair of words. */
const maxPairs = 200_000_000

/**
 * Aligns what was read with what was said by the fewest changes of words (Levenshtein distance). Throws
 * `invalid-options` if the texts are too long to be compared.
 */
export const alignWords = (said: readonly string[], read: readonly string[]): readonly AlignedWords[] => {
  const columns = read.length + 1
  if ((said.length + 1) * columns > maxPairs) {
    const sentence = `${said.length} and ${read.length} words are too many to compare; cut the recording into parts.`
    throw new SpeechError('invalid-options', sentence)
  }
  const plainSaid = said.map(plain)
  const plainRead = read.map(plain)
  const steps = new Uint8Array((said.length + 1) * columns)
  steps.fill(readOnly, 1, columns)
  let above = Float64Array.from({ length: columns }, (_none, at) => at * change)
  let row = new Float64Array(columns)
  for (let i = 1; i <= said.length; i++) {
    row[0] = i * change
    steps[i * columns] = saidOnly
    for (let j = 1; j <= read.length; j++) {
      const changed = (above[j - 1] ?? 0) + (plainSaid[i - 1] === plainRead[j - 1] ? 0 : substitution)
      const deleted = (above[j] ?? 0) + change
      const inserted = (row[j - 1] ?? 0) + change
      const least = Math.min(changed, deleted, inserted)
      row[j] = least
      steps[i * columns + j] = least === changed ? both : least === deleted ? saidOnly : readOnly
    }
    ;[above, row] = [row, above]
  }
  const aligned: AlignedWords[] = []
  for (let i = said.length, j = read.length; i > 0 || j > 0;) {
    const step = steps[i * columns + j]
    aligned.push({
      said: step === readOnly ? undefined : said[i - 1],
      read: step === saidOnly ? undefined : read[j - 1],
    })
    if (step !== readOnly) i -= 1
    if (step !== saidOnly) j -= 1
  }
  return aligned.reverse()
}

export const isRight = ({ said, read }: AlignedWords): boolean =>
  said !== undefined && read !== undefined && plain(said) === plain(read)

export const countErrors = (aligned: readonly AlignedWords[]): WordErrors => {
  const count = (is: (pair: AlignedWords) => boolean): number => aligned.filter(is).length
  return {
    words: count(({ said }) => said !== undefined),
    right: count(isRight),
    substituted: count((pair) => pair.said !== undefined && pair.read !== undefined && !isRight(pair)),
    inserted: count(({ said }) => said === undefined),
    deleted: count(({ read }) => read === undefined),
  }
}
