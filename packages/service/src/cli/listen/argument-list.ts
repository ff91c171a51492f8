import { usageError } from '../process/failure.js'

/**
 * The words of a command line, without a shell: separated by spaces, with '…' and "…" around spaces, and a backslash
 * before a character that is to stay, in "…" only before \ and ". Nothing else has a meaning. Throws `invalid-options`
 * for an open quote and for an empty line.
 */
export const splitArguments = (line: string, flag: string): readonly string[] => {
  const words: string[] = []
  let word: string | undefined
  let quote: string | undefined
  for (let at = 0; at < line.length; at++) {
    const character = line.charAt(at)
    const next = line.charAt(at + 1)
    if (character === '\\' && quote !== "'" && (quote === '"' ? /["\\]/ : /./s).test(next)) {
      word = (word ?? '') + next
      at += 1
    } else if (character === quote) quote = undefined
    else if (quote === undefined && (character === "'" || character === '"')) {
      quote = character
      word ??= ''
    } else if (quote === undefined && /\s/.test(character)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else word = (word ?? '') + character
  }
  if (quote !== undefined) throw usageError(`${flag}: a ${quote} is not closed in ${JSON.stringify(line)}.`)
  if (word !== undefined) words.push(word)
  if (words[0] === undefined || words[0] === '') throw usageError(`${flag} must name a program.`)
  return words
}
