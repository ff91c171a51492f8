/** How many letters must be added, taken away or changed to make one of the other (Levenshtein). */
const distance = (one: string, other: string): number => {
  let above = Array.from({ length: other.length + 1 }, (_none, at) => at)
  for (const [row, letter] of Array.from(one).entries()) {
    const line = [row + 1]
    for (const [column, otherLetter] of Array.from(other).entries()) {
      const changed = (above[column] ?? 0) + (letter.toLowerCase() === otherLetter.toLowerCase() ? 0 : 1)
      line.push(Math.min(changed, (above[column + 1] ?? 0) + 1, (line[column] ?? 0) + 1))
    }
    above = line
  }
  return above.at(-1) ?? 0
}

/** The known name that a mistyped one most likely meant; undefined where none is near. */
export const nearestName = (name: string, known: readonly string[]): string | undefined => {
  const tried = name.slice(0, 64)
  const [best] = known
    .map((other) => ({ other, far: distance(tried, other) }))
    .toSorted((one, two) => one.far - two.far)
  return best !== undefined && best.far <= Math.max(2, Math.floor(tried.length / 3)) ? best.other : undefined
}
