import { unprintable, wide } from 'rxspeech/internal/operators/captions/caption-tokens'

/** Text from other sources as one line without control sequences. */
export const plainText = (text: string): string => text.replace(unprintable, ' ').trim()

const invisible = /[\p{Mn}\p{Me}\p{Cf}]/u

const columnsOf = (character: string): number => (invisible.test(character) ? 0 : wide.test(character) ? 2 : 1)

/** How many columns of a terminal the text takes. */
export const displayWidth = (text: string): number => {
  let width = 0
  for (const character of text) width += columnsOf(character)
  return width
}

/** How many rows of a terminal the text takes, which wraps a character of two columns as a whole. */
export const rowsOf = (text: string, columns: number): number => {
  let [rows, used] = [1, 0]
  for (const character of text) {
    const width = columnsOf(character)
    if (used + width > columns) {
      rows += 1
      used = 0
    }
    used += width
  }
  return rows
}

/** The end of the text that fits in `columns`, after `…` if something is missing. */
export const lastColumns = (text: string, columns: number): string => {
  if (displayWidth(text) <= columns) return text
  const kept: string[] = []
  let width = 1
  for (const character of Array.from(text).reverse()) {
    width += columnsOf(character)
    if (width > columns) break
    kept.push(character)
  }
  return columns < 1 ? '' : `…${kept.reverse().join('')}`
}

/** `12.9 s` */
export const secondsText = (ms: number): string => `${(ms / 1000).toFixed(1)} s`

/** `1 call`, `2 calls` */
export const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`

/** A line per row after a line of titles, each column as wide as its widest cell, without control characters. */
export const tableText = (titles: readonly string[], rows: readonly (readonly string[])[]): string => {
  const lines = [titles, ...rows.map((row) => row.map(plainText))]
  const widths = titles.map((_title, at) => Math.max(...lines.map((row) => row[at]?.length ?? 0)))
  return lines
    .map((row) => row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  '))
    .map((line) => `${line.trimEnd()}\n`)
    .join('')
}
