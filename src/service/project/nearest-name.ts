/** How many letters have to be put in, left out or changed to make one word of the other (Levenshtein's distance). */
const distance = (one: string, other: string): number => {
  let row = Array.from({ length: other.length + 1 }, (_none, at) => at)
  for (let i = 1; i <= one.length; i++) {
    const next = [i]
    for (let j = 1; j <= other.length; j++) {
      const changed = (row[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1)
      next.push(Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}

/** The name that somebody probably meant; undefined where none is near. */
export const nearestName = (given: string, known: readonly string[]): string | undefined => {
  if (given.length > 64) return undefined
  const wanted = given.toLowerCase()
  const ranked = known
    .map((name) => ({ name, far: distance(wanted, name.toLowerCase()) }))
    .filter(({ name, far }) => far <= Math.max(1, Math.floor(name.length / 3)))
    .sort((one, other) => one.far - other.far)
  return ranked[0]?.name
}

/** `; did you mean x?`, or all that there is. */
export const hintOf = (given: string, known: readonly string[]): string => {
  const near = nearestName(given, known)
  if (near !== undefined) return `did you mean ${near}?`
  return known.length === 0 ? 'there are none' : `there are ${known.join(', ')}`
}
