const letters = "abcdefghijklmnopqrstuvwxyz'"
const frenchLetters = 'àâæçéèêëîïôœùûü'

/**
 * The known words that differ from a word by one letter, or by two letters in another order: those with the same
 * beginning first. It asks for every word that could be one, some 90 for each letter, so it needs no list of all words.
 */
export const nearWords = (word: string, isKnown: (word: string) => boolean, count = 3): readonly string[] => {
  // Every letter differs from a single character such as "1" by one.
  if (word.length < 2) return []
  const near = new Set<string>()
  for (let at = 0; at <= word.length; at += 1) {
    const before = word.slice(0, at)
    const rest = word.slice(at)
    near.add(before + rest.slice(1))
    near.add(before + rest.slice(1, 2) + rest.slice(0, 1) + rest.slice(2))
    for (const letter of letters + frenchLetters) {
      near.add(before + letter + rest)
      near.add(before + letter + rest.slice(1))
    }
  }
  near.delete('')
  const differs = (name: string): number => (name.startsWith(word.slice(0, 1)) ? 0 : 1)
  return [...near]
    .filter((name) => name !== word && isKnown(name))
    .toSorted((a, b) => differs(a) - differs(b) || a.localeCompare(b))
    .slice(0, count)
}
