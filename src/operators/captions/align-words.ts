/** The number of leading words that two lists have in common. */
export const commonLength = (a: readonly string[], b: readonly string[]): number => {
  const differs = a.findIndex((word, index) => word !== b[index])
  return differs === -1 ? a.length : differs
}

/** Words are compared without case and punctuation. */
const plain = (word: string): string => word.toLowerCase().replace(/[\p{P}\p{S}]/gu, '') || word

/** Beyond this, words are counted and not compared: the partials of a service without milestones can have thousands. */
const maxComparisons = 250_000

/**
 * Finds where a text continues after committed words: `at` is the number of its words that match the committed ones,
 * and `differing` the smallest edit distance between the committed words and any prefix of the text.
 */
export const findContinuation = (
  committed: readonly string[],
  text: readonly string[],
): { readonly at: number; readonly differing: number } => {
  const [known, next] = [committed.map(plain), text.map(plain)]
  const same = commonLength(known, next)
  const [left, right] = [known.slice(same), next.slice(same)]
  if (left.length === 0) return { at: same, differing: 0 }
  if (left.length * right.length > maxComparisons) {
    return { at: Math.min(committed.length, text.length), differing: left.length }
  }
  const { at, differing } = nearestPrefix(left, right)
  return { at: same + at, differing }
}

const nearestPrefix = (
  left: readonly string[],
  right: readonly string[],
): { readonly at: number; readonly differing: number } => {
  let row = Array.from({ length: right.length + 1 }, (_, at) => at)
  for (const [index, word] of left.entries()) {
    const next = [index + 1]
    for (const [at, candidate] of right.entries()) {
      const replaced = (row[at] ?? 0) + (word === candidate ? 0 : 1)
      next.push(Math.min(replaced, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1))
    }
    row = next
  }
  const differing = Math.min(...row)
  // Among equal prefixes the one whose length is closest to the committed words: a replaced word counts as one.
  const at = row
    .map((distance, length) => ({ distance, length }))
    .filter(({ distance }) => distance === differing)
    .reduce((best, prefix) =>
      Math.abs(prefix.length - left.length) < Math.abs(best.length - left.length) ? prefix : best,
    ).length
  return { at, differing }
}
