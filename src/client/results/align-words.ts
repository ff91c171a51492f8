/** Words as they are compared: without letter case and punctuation. */
const plain = (word: string): string => word.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')

export const wordsOf = (text: string): readonly string[] => text.split(/\s+/).filter((word) => word !== '')

/** A word in so many may be read otherwise the second time. */
const leastAlike = 0.75

/**
 * How many words at the beginning of `heard` only repeat what was `said` at its end. The same audio, read once more from
 * somewhere within `said`, begins with some of its last words, then goes on with new ones; its first word may be cut and
 * read as another one. The longest likeness counts. `heard` may itself end within what was said, as a partial does.
 */
export const repeatedWords = (said: readonly string[], heard: readonly string[]): number => {
  const before = said.map(plain)
  const after = heard.map(plain)
  for (let start = 0; start < before.length; start++) {
    const whole = likeness(before.slice(start), after)
    if (whole > 0) return whole
  }
  if (after.length < 2) return 0
  // The first word was cut: what stands for it goes as well.
  for (let start = 1; start < before.length; start++) {
    const rest = likeness(before.slice(start), after.slice(1))
    if (rest > 0) return rest + 1
  }
  return 0
}

/** The number of words that both have in common from their beginning to the end of either; 0 where they are not alike. */
const likeness = (before: readonly string[], after: readonly string[]): number => {
  const length = Math.min(before.length, after.length)
  const equal = before.slice(0, length).filter((word, index) => word === after[index]).length
  return equal / length >= leastAlike ? length : 0
}
