/**
 * How many letters have to be inserted, deleted, replaced or swapped with the next one to turn one word into the other
 * (optimal string alignment distance).
 */
const distance = (from: string, to: string): number => {
  let before: readonly number[] = []
  let row: readonly number[] = Array.from({ length: to.length + 1 }, (_none, at) => at)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1)
      const isSwapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]
      const swapped = isSwapped ? (before[j - 2] ?? 0) + 1 : Infinity
      next.push(Math.min(replaced, swapped, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    before = row
    row = next
  }
  return row.at(-1) ?? 0
}

/** The known name that a mistyped one probably means; undefined if none is near. */
export const nearestName = (given: string, known: readonly string[]): string | undefined => {
  if (given.length > 64) return undefined
  const wanted = given.toLowerCase()
  const ranked = known
    .map((name) => ({ name, far: distance(wanted, name.toLowerCase()) }))
    .filter(({ name, far }) => far <= Math.max(1, Math.floor(name.length / 3)))
    .sort((a, b) => a.far - b.far)
  return ranked[0]?.name
}

/** "did you mean x?", or the list of the known names. */
export const suggestName = (given: string, known: readonly string[]): string => {
  const near = nearestName(given, known)
  if (near !== undefined) return `did you mean ${near}?`
  return known.length === 0 ? 'there are none' : `there are ${known.join(', ')}`
}

/** The same as the end of a sentence. */
export const suggestionEnd = (given: string, known: readonly string[]): string => {
  const suggestion = suggestName(given, known)
  return suggestion.endsWith('?') ? suggestion : `${suggestion}.`
}
