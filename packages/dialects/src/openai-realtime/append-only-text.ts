/** The text of an item, of which a client gets each part once and nothing is taken back. */
export interface AppendOnlyText {
  /** The segments that are definitive. */
  readonly text: string
  /** What the client has of the open segment. */
  readonly early: string
}

export const noText: AppendOnlyText = { text: '', early: '' }

/** Returns the text and its new part: the words of the open segment that stay in its result (PROTOCOL 3.3). */
export const withStable = ({ text, early }: AppendOnlyText, stable: string): readonly [AppendOnlyText, string] => {
  const more = partBehind(stable.trim(), early)
  return [{ text, early: early + more }, early === '' ? separated(text, more) : more]
}

/** The same with the result of the segment, which may write its words otherwise. */
export const withSegment = ({ text, early }: AppendOnlyText, result: string): readonly [AppendOnlyText, string] => {
  const segment = result.trim()
  const rest = segment.startsWith(early) ? partBehind(segment, early) : wordsBehind(segment, early)
  const whole = { text: text + separated(text, segment), early: '' }
  return [whole, early === '' ? separated(text, rest) : rest]
}

const separated = (before: string, part: string): string => (before === '' || part === '' ? part : ` ${part}`)

const partBehind = (text: string, before: string): string => (text.startsWith(before) ? text.slice(before.length) : '')

/** What follows those words, with the space before it. There may be others between them. */
const wordsBehind = (text: string, before: string): string => {
  const words = [...text.matchAll(/\S+/g)]
  const early = before.split(/\s+/).map(spoken)
  let found = 0
  let behind = 0
  for (const [at, [word]] of words.entries()) {
    if (spoken(word) !== early[found]) continue
    found += 1
    behind = at + 1
  }
  // Words that are written in quite another way, such as numbers.
  const next = words[found === early.length ? behind : early.length]
  return next === undefined ? '' : ` ${text.slice(next.index)}`
}

/** A word without its case and punctuation. */
const spoken = (word: string): string => word.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')
