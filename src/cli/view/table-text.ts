import { plainText } from './plain-text.js'

/** A line for each row below a line of titles, each column as wide as its widest cell; control characters made plain. */
export const tableText = (titles: readonly string[], rows: readonly (readonly string[])[]): string => {
  const lines = [titles, ...rows.map((row) => row.map(plainText))]
  const widths = titles.map((_title, at) => Math.max(...lines.map((row) => row[at]?.length ?? 0)))
  return lines
    .map((row) => row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  '))
    .map((line) => `${line.trimEnd()}\n`)
    .join('')
}
