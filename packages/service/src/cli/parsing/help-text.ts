import type { TextStyle } from '../view/paint.js'
import type { ScreenStream } from '../view/live-screen.js'
import { displayWidth } from '../view/plain-text.js'

/** Without a terminal, as of a pipe. */
const defaultColumns = 80
/** Below, few words fit into a line; above, lines are hard to read. */
const [minColumns, maxColumns] = [40, 100]
/** An explanation stands below its term where less than this would be left beside it. */
const minExplanationColumns = 40

/** The columns that help texts take: those of the terminal, within limits. */
export const helpColumns = ({ isTTY, columns = 0 }: ScreenStream): number =>
  isTTY === true && columns > 0 ? Math.min(maxColumns, Math.max(minColumns, columns)) : defaultColumns

/** The lines of a text, broken at spaces and not at its line breaks. A word that is longer than a line stays whole. */
export const wrapText = (text: string, columns: number): readonly string[] =>
  wrapWords(
    text.split(/\s+/).filter((word) => word !== ''),
    columns,
  )

const wrapWords = (words: readonly string[], columns: number): readonly string[] => {
  const lines: string[] = []
  for (const word of words) {
    const line = lines.at(-1)
    if (line === undefined || displayWidth(line) + 1 + displayWidth(word) > columns) lines.push(word)
    else lines[lines.length - 1] = `${line} ${word}`
  }
  return lines
}

const indent = (lines: readonly string[], columns: number): string =>
  lines.map((line) => `${' '.repeat(columns)}${line}`).join('\n')

/** A term and its explanation, in two columns if both fit; `termColumns` is the width of the longest term. */
export const itemText = (term: string, termColumns: number, explanation: string, columns: number): string => {
  const beside = 2 + termColumns + 2
  if (explanation === '') return `  ${term}`
  if (columns - beside < minExplanationColumns) return `  ${term}\n${indent(wrapText(explanation, columns - 6), 6)}`
  return `  ${term.padEnd(termColumns)}${indent(wrapText(explanation, columns - beside), beside).slice(2 + termColumns)}`
}

/** Lines of two columns below a title: the input, and its meaning. */
export type Section = readonly (readonly [typed: string, meaning: string])[]

/** Sections after the options of the help, in the same layout. */
export const sectionsText = (sections: Readonly<Record<string, Section>>, { paint, columns }: TextStyle): string =>
  Object.entries(sections)
    .map(([title, lines]) => {
      const termColumns = Math.max(...lines.map(([typed]) => typed.length))
      const items = lines.map(([typed, meaning]) => itemText(typed, termColumns, meaning, columns))
      return `\n${paint('bold', `${title}:`)}\n${items.join('\n')}`
    })
    .join('\n')

/** Examples below a title: the purpose, then the input. */
export const exampleText = (examples: Section, { paint, columns }: TextStyle, title = 'Examples'): string => {
  const texts = examples.map(([typed, meaning]) => {
    const purpose = wrapText(meaning, columns - 4).map((line) => `  # ${line}`)
    return `${purpose.join('\n')}\n  $ ${commandText(typed, columns)}`
  })
  return `\n${paint('bold', `${title}:`)}\n${texts.join('\n')}`
}

/** A flag with its value, a quoted word, or a word: what stays in one line. */
const commandParts = /--?[\w-]+ (?!-)(?:'[^']*'|[^\s'|<>])+(?=\s|$)|(?:'[^']*'|\S)+/g

/** A command of a shell behind its prompt, broken after `|` and `&&`, then between its words. */
export const commandText = (command: string, columns: number): string => {
  if (displayWidth(command) <= columns - 4) return command
  return command
    .split(/(?<= (?:\||&&)) /)
    .map((stage) =>
      // Six columns of a line are for its indentation, two for ` \\`.
      wrapWords(stage.match(commandParts) ?? [], columns - 8).join(' \\\n      '),
    )
    .join('\n      ')
}
