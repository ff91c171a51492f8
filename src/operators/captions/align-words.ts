/** How many words from the front two lists have in common. */
export const commonLength = (one: readonly string[], other: readonly string[]): number => {
  const differs = one.findIndex((word, at) => word !== other[at])
  return differs === -1 ? one.length : differs
}

/** Case and marks are no difference of words. */
const plain = (word: string): string => word.toLowerCase().replace(/[\p{P}\p{S}]/gu, '') || word

/** Beyond so many comparisons words are counted, not compared: a service without milestones may say thousands. */
const mostComparisons = 250_000

/**
 * Where a text goes on behind words that are committed: the number of its words that the committed ones stand for, and
 * how many of these it has otherwise (the least edit distance of the committed words to any beginning of the text).
 */
export const goesOnAt = (
  committed: readonly string[],
  text: readonly string[],
): { readonly at: number; readonly differing: number } => {
  const [ours, theirs] = [committed.map(plain), text.map(plain)]
  const same = commonLength(ours, theirs)
  const [left, right] = [ours.slice(same), theirs.slice(same)]
  if (left.length === 0) return { at: same, differing: 0 }
  if (left.length * right.length > mostComparisons) {
    return { at: Math.min(committed.length, text.length), differing: left.length }
  }
  const { at, differing } = nearestBeginning(left, right)
  return { at: same + at, differing }
}

const nearestBeginning = (
  left: readonly string[],
  right: readonly string[],
): { readonly at: number; readonly differing: number } => {
  let row = Array.from({ length: right.length + 1 }, (_, at) => at)
  for (const [index, word] of left.entries()) {
    const next = [index + 1]
    for (const [at, other] of right.entries()) {
      const replaced = (row[at] ?? 0) + (word === other ? 0 : 1)
      next.push(Math.min(replaced, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1))
    }
    row = next
  }
  const differing = Math.min(...row)
  // Of equal ones the beginning that is as long as what is committed: a word that was replaced counts as one.
  const at = row
    .map((distance, length) => ({ distance, length }))
    .filter(({ distance }) => distance === differing)
    .reduce((best, one) =>
      Math.abs(one.length - left.length) < Math.abs(best.length - left.length) ? one : best,
    ).length
  return { at, differing }
}
