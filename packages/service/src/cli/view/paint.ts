import type { ScreenStream } from './live-screen.js'

/** Select Graphic Rendition (ECMA-48 8.3.117). */
const codes = {
  bold: [1, 22],
  dim: [2, 22],
  cyan: [36, 39],
  magenta: [35, 39],
  green: [32, 39],
  red: [31, 39],
  yellow: [33, 39],
} as const
export type Color = keyof typeof codes

/** Colors a text, or returns it unchanged. */
export type Paint = (color: Color, text: string) => string

/** Colors are for terminals, and only while `NO_COLOR` is not set (no-color.org). */
export const paintFor = (stream: ScreenStream, env: Readonly<Record<string, string | undefined>>): Paint => {
  const isPlain = stream.isTTY !== true || (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb'
  return (color, text) => {
    const [on, off] = codes[color]
    return isPlain || text === '' ? text : `\u001b[${on}m${text}\u001b[${off}m`
  }
}

/** How a text of several lines is shown. */
export interface TextStyle {
  readonly paint: Paint
  /** Where long lines are broken. */
  readonly columns: number
}
