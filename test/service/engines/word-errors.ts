/** The minimum number of insertions, deletions and substitutions of words between two texts. */
export const wordErrors = (reference: string, hypothesis: string): number => {
  const wanted = reference.split(' ')
  let row = [0, ...hypothesis.split(' ').filter(Boolean)].map((_, at) => at)
  const words = hypothesis.split(' ').filter(Boolean)
  for (const [at, word] of wanted.entries()) {
    const next = [at + 1]
    for (const [other, hypothesisWord] of words.entries()) {
      const change = (row[other] ?? 0) + (word === hypothesisWord ? 0 : 1)
      next.push(Math.min(change, (row[other + 1] ?? 0) + 1, (next[other] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
