// The words of a dictionary and their pronunciations.

/** The phones of each word, one list per pronunciation. */
export type Pronunciations = ReadonlyMap<string, readonly (readonly string[])[]>

/** The name of a word without the number of its variant, such as `to(2)`. */
const variant = /\(\d+\)$/

/** Adds the lines of a dictionary, `word PH PH …`; lines without phones and comments are skipped. */
export const addPronunciations = (text: string, to: Map<string, (readonly string[])[]>): void => {
  for (const line of text.split('\n')) {
    const [word = '', ...phones] = line.trim().split(/\s+/)
    if (phones.length === 0 || word.startsWith('#') || word.startsWith(';;')) continue
    const name = word.replace(variant, '')
    const known = to.get(name)
    if (known === undefined) to.set(name, [phones])
    else known.push(phones)
  }
}

/** The number of letters to insert, delete or replace; more than `max` counts as `max + 1`. */
const distance = (from: string, to: string, max: number): number => {
  let row = Array.from({ length: to.length + 1 }, (_none, at) => at)
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i]
    let least = i
    for (let j = 1; j <= to.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1)
      const cost = Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1)
      next.push(cost)
      least = Math.min(least, cost)
    }
    if (least > max) return max + 1
    row = next
  }
  return row.at(-1) ?? 0
}

/** The words of the dictionary that are spelled nearly the same, nearest first. */
export const nearestWords = (word: string, known: Pronunciations, count = 3): readonly string[] => {
  if (word.length > 32) return []
  const max = word.length < 4 ? 1 : 2
  const ranked: { readonly name: string; readonly far: number }[] = []
  for (const name of known.keys()) {
    if (Math.abs(name.length - word.length) > max) continue
    const far = distance(word, name, max)
    if (far <= max) ranked.push({ name, far })
  }
  // Words with the same beginning first: typing errors are more frequent at the end.
  const begins = ({ name }: { readonly name: string }): number => (name.startsWith(word.charAt(0)) ? 0 : 1)
  return ranked
    .toSorted((a, b) => a.far - b.far || begins(a) - begins(b) || a.name.localeCompare(b.name))
    .slice(0, count)
    .map(({ name }) => name)
}

/** The price of a piece of a word: few long words of the dictionary are better than letters. */
const priceOf = (letters: number): number => (letters >= 3 ? 2 : letters === 2 ? 4 : 3)

/**
 * The phones of a word from the words of the dictionary that it consists of, and from the names of its letters
 * otherwise: `rxspeech` is pronounced as "r", "x", "speech". Undefined if it has characters that no word has.
 */
export const spelledPronunciation = (word: string, known: Pronunciations): string | undefined => {
  const letters = Array.from(word.toLowerCase()).slice(0, 40)
  const best: ({ readonly price: number; readonly phones: string } | undefined)[] = [{ price: 0, phones: '' }]
  for (let end = 1; end <= letters.length; end += 1) {
    for (let start = 0; start < end; start += 1) {
      const before = best[start]
      const piece = letters.slice(start, end).join('')
      // The name of a letter is its last variant: "a" is AH in a sentence, and EY as a letter.
      const ways = start === 0 && end === letters.length ? undefined : known.get(piece)
      const phones = piece.length === 1 ? ways?.at(-1) : ways?.[0]
      if (before === undefined || phones === undefined) continue
      const price = before.price + priceOf(piece.length)
      if (price < (best[end]?.price ?? Infinity)) best[end] = { price, phones: `${before.phones} ${phones.join(' ')}` }
    }
  }
  return best[letters.length]?.phones.trim()
}
