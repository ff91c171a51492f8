import type { Paint } from '../view/paint.js'

/** Lines of two columns below a title: what is typed, and what it means. */
type Section = readonly (readonly [typed: string, meaning: string])[]

/** Sections below the help that the options give, laid out as that is. */
export const helpText = (paint: Paint, sections: Readonly<Record<string, Section>>): string =>
  Object.entries(sections)
    .map(([title, lines]) => {
      const width = Math.max(...lines.map(([typed]) => typed.length))
      const text = lines.map(([typed, meaning]) => `  ${typed.padEnd(width)}  ${meaning}`).join('\n')
      return `\n${paint('bold', `${title}:`)}\n${text}`
    })
    .join('\n')

/** Examples below the help of one command: what it is for, then what is typed. */
export const exampleText = (paint: Paint, examples: Section): string =>
  `\n${paint('bold', 'Examples:')}\n${examples.map(([typed, meaning]) => `  # ${meaning}\n  $ ${typed}`).join('\n')}`
