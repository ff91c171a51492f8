/** Words put in, left out or changed between two texts: the least number of such edits. */
export const wordErrors = (said: string, heard: string): number => {
  const wanted = said.split(' ')
  let row = [0, ...heard.split(' ').filter(Boolean)].map((_, at) => at)
  const words = heard.split(' ').filter(Boolean)
  for (const [at, word] of wanted.entries()) {
    const next = [at + 1]
    for (const [other, heardWord] of words.entries()) {
      const change = (row[other] ?? 0) + (word === heardWord ? 0 : 1)
      next.push(Math.min(change, (row[other + 1] ?? 0) + 1, (next[other] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
