import {
  alignWords,
  comparedWords,
  countErrors,
  isRight,
  wordErrorRate,
  type AlignedWords,
  type WordErrors,
} from './word-errors.js'
import type { Paint } from './paint.js'
import { displayWidth, plainText } from './plain-text.js'

/** What was said and what was read, of one speaker or, without a name, of all. */
export interface ComparedText {
  readonly speaker?: string | undefined
  readonly said: string
  readonly read: string
}

export interface WordErrorsStyle {
  readonly paint: Paint
  readonly columns: number
}

const percent = (part: number): string => `${(100 * part).toFixed(1)} %`

const countsLine = (name: string, errors: WordErrors): string => {
  const { words, right, substituted, inserted, deleted } = errors
  return `${name}${right} of ${words} words right, ${substituted} substituted, ${inserted} inserted, ${deleted} deleted: word error rate ${percent(wordErrorRate(errors))}\n`
}

const labels = ['said  ', 'read  '] as const
/** Stands for a word that the other line has. */
const missing = '—'

const cellsOf = (pair: AlignedWords): readonly [said: string, read: string, width: number] => {
  const [said, read] = [plainText(pair.said ?? missing), plainText(pair.read ?? missing)]
  return [said, read, Math.max(displayWidth(said), displayWidth(read))]
}

const padded = (cell: string, width: number): string => cell + ' '.repeat(width - displayWidth(cell))

/** The pairs in rows that fit in the columns; a longer word has a row of its own. */
const rowsOf = (aligned: readonly AlignedWords[], columns: number): readonly (readonly AlignedWords[])[] => {
  const rows: AlignedWords[][] = []
  let left = 0
  for (const pair of aligned) {
    const needed = cellsOf(pair)[2] + 1
    const row = rows.at(-1)
    if (row === undefined || needed > left) {
      rows.push([pair])
      left = columns - labels[0].length - needed
    } else {
      row.push(pair)
      left -= needed
    }
  }
  return rows
}

const rowText = (row: readonly AlignedWords[], paint: Paint): string => {
  const lines = [0, 1].map((line) =>
    row
      .map((pair) => {
        const [said, read, width] = cellsOf(pair)
        const cell = padded(line === 0 ? said : read, width)
        return isRight(pair) ? cell : paint(line === 0 ? 'green' : 'red', cell)
      })
      .join(' '),
  )
  return lines.map((line, at) => `${paint('dim', labels[at] ?? '')}${line.trimEnd()}\n`).join('')
}

/** The errors of a transcript: their numbers, then said and read beside each other, as far as these differ. */
export const wordErrorsText = (texts: readonly ComparedText[], { paint, columns }: WordErrorsStyle): string => {
  const compared = texts.map(({ speaker, said, read }) => ({
    name: speaker === undefined ? '' : `${speaker}: `,
    aligned: alignWords(comparedWords(said), comparedWords(read)),
  }))
  const rows = compared.flatMap(({ name, aligned }) => {
    const wrong = rowsOf(aligned, columns).filter((row) => !row.every(isRight))
    return wrong.map(
      (row, at) => (at === 0 && name !== '' ? `${paint('bold', name.trim())}\n` : '') + rowText(row, paint),
    )
  })
  const counts = compared.map(({ name, aligned }) => countsLine(name, countErrors(aligned)))
  const total = countsLine('all: ', countErrors(compared.flatMap(({ aligned }) => aligned)))
  return [...rows, ...counts, ...(compared.length > 1 ? [total] : [])].join('')
}
