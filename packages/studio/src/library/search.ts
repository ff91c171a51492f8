import type { TranscriptDocument, TranscriptLine } from '../state/transcript.js'
import { textOfLine } from './edits.js'

/** Words of a line that match, by their indexes; `toWord` is the last one. */
export interface Hit {
  readonly line: number
  readonly fromWord: number
  readonly toWord: number
}

/** Case, accents and punctuation make no difference. */
export const normalized = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/gu, '')
    .toLowerCase()
    .replace(/['’]/gu, '')
    .replace(/[^\p{L}\p{N}\p{M}]+/gu, ' ')
    .trim()

/** A line as it is searched: its words with one space between them, and where each begins. */
interface SearchLine {
  readonly text: string
  readonly starts: readonly number[]
}

const searchLines = new WeakMap<TranscriptLine, SearchLine>()

const searchLineOf = (line: TranscriptLine): SearchLine => {
  const known = searchLines.get(line)
  if (known !== undefined) return known
  let text = ''
  const starts = line.words.map((word) => {
    const part = normalized(word.text)
    if (part !== '' && text !== '') text += ' '
    const start = text.length
    text += part
    return start
  })
  const made = { text, starts }
  searchLines.set(line, made)
  return made
}

/** All places of a text in a transcript, in the order of its lines. */
export const hitsIn = ({ lines }: Pick<TranscriptDocument, 'lines'>, query: string): readonly Hit[] => {
  const wanted = normalized(query)
  if (wanted === '') return []
  return lines.flatMap((line) => {
    const { text, starts } = searchLineOf(line)
    const hits: Hit[] = []
    for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + wanted.length)) {
      const wordAt = (place: number): number =>
        Math.max(
          0,
          starts.findLastIndex((start) => start <= place),
        )
      hits.push({ line: line.id, fromWord: wordAt(at), toWord: wordAt(at + wanted.length - 1) })
    }
    return hits
  })
}

/** The text of a kept session: its lines as they are shown and as they are searched, each line one of the text. */
export interface SearchText {
  readonly id: string
  readonly shown: string
  readonly searched: string
}

export const searchTextOf = ({ id, lines }: Pick<TranscriptDocument, 'id' | 'lines'>): SearchText => {
  const spoken = lines.filter(({ words }) => words.length > 0)
  return {
    id,
    shown: spoken.map(textOfLine).join('\n'),
    searched: spoken.map((line) => searchLineOf(line).text).join('\n'),
  }
}

/** The first line of a session that has the text, around it, and how many places have it. */
export interface Match {
  readonly before: string
  readonly found: string
  readonly after: string
  readonly count: number
}

const wordsBefore = 4
const wordsAfter = 10

/** The places of a text in a session; undefined if it has none. */
export const matchIn = ({ shown, searched }: SearchText, query: string): Match | undefined => {
  const wanted = normalized(query)
  const first = wanted === '' ? -1 : searched.indexOf(wanted)
  if (first === -1) return undefined
  let count = 0
  for (let at = first; at !== -1; at = searched.indexOf(wanted, at + wanted.length)) count += 1
  const line = newlinesBefore(searched, first)
  const words = (shown.split('\n', line + 1)[line] ?? '').split(' ')
  // The words of this one line again, to find the one at the place.
  const place = first - (searched.lastIndexOf('\n', first) + 1)
  let length = 0
  const ends = words.map((word) => {
    const part = normalized(word)
    if (part !== '') length += part.length + (length === 0 ? 0 : 1)
    return length
  })
  const from = Math.max(
    0,
    ends.findIndex((end) => end > place),
  )
  const last = ends.findIndex((end) => end >= place + wanted.length)
  const to = last === -1 ? words.length - 1 : last
  const begin = Math.max(0, from - wordsBefore)
  const end = Math.min(words.length, to + 1 + wordsAfter)
  return {
    before: `${begin > 0 ? '… ' : ''}${words.slice(begin, from).join(' ')}`.trim(),
    found: words.slice(from, to + 1).join(' '),
    after: `${words.slice(to + 1, end).join(' ')}${end < words.length ? ' …' : ''}`.trim(),
    count,
  }
}

const newlinesBefore = (text: string, end: number): number => {
  let count = 0
  for (let at = text.indexOf('\n'); at !== -1 && at < end; at = text.indexOf('\n', at + 1)) count += 1
  return count
}
