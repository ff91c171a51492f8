import {
  alignWords,
  comparedWords,
  countErrors,
  isRight,
  wordErrorRate,
  type AlignedWords,
  type WordErrors,
} from 'rxspeech-engines/word-errors'
import type { Paint, TextStyle } from './paint.js'
import { displayWidth, plainText } from './plain-text.js'

/** What was said and what was read, of one speaker or, without a name, of all. */
export interface ComparedText {
  readonly speaker?: string | undefined
  readonly said: string
  readonly read: string
}

const percent = (part: number): string => `${(100 * part).toFixed(1)} %`

/** The numbers of the errors in a line that begins with the name. */
export const countsLine = (name: string, errors: WordErrors): string => {
  const { words, right, substituted, inserted, deleted } = errors
  const rate = words === 0 && inserted > 0 ? 'no word error rate' : `word error rate ${percent(wordErrorRate(errors))}`
  return `${name}${right} of ${words} words right, ${substituted} substituted, ${inserted} inserted, ${deleted} deleted: ${rate}\n`
}

const labels = ['said  ', 'read  ', '      '] as const
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

/** What is wrong with a pair: substituted, inserted or deleted. */
const markOf = (pair: AlignedWords): string =>
  isRight(pair) ? '' : pair.said === undefined ? 'I' : pair.read === undefined ? 'D' : 'S'

/** Said above read, and the marks of the errors below, which also tell without colors. */
const rowText = (row: readonly AlignedWords[], paint: Paint): string => {
  const lines = (['said', 'read', 'mark'] as const).map((line) =>
    row
      .map((pair) => {
        const [said, read, width] = cellsOf(pair)
        const cell = padded({ said, read, mark: markOf(pair) }[line], width)
        return isRight(pair) ? cell : paint(({ said: 'green', read: 'red', mark: 'dim' } as const)[line], cell)
      })
      .join(' '),
  )
  return lines.map((line, at) => `${paint('dim', labels[at] ?? '')}${line.trimEnd()}`.trimEnd() + '\n').join('')
}

const align = ({ said, read }: ComparedText): readonly AlignedWords[] =>
  alignWords(comparedWords(said), comparedWords(read))

/** The errors in all texts together. */
export const errorsOf = (texts: readonly ComparedText[]): WordErrors => countErrors(texts.flatMap(align))

/** The errors of a transcript: said and read beside each other, as far as these differ, and then their numbers. */
export const wordErrorsText = (texts: readonly ComparedText[], { paint, columns }: TextStyle): string => {
  const compared = texts.map((text) => ({
    name: text.speaker === undefined ? '' : `${text.speaker}: `,
    aligned: align(text),
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
