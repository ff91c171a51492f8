import type { NamedFinding, Status } from './check.js'
import { wrapText } from '../parsing/help-text.js'
import type { Color, Paint } from '../view/paint.js'
import { plainText } from '../view/plain-text.js'

export interface FindingsStyle {
  readonly paint: Paint
  /** Undefined for lines of any length, as for a pipe. */
  readonly columns?: number | undefined
}

const colors: Readonly<Record<Status, Color>> = { ok: 'green', warning: 'yellow', wrong: 'red' }
const statusColumns = 9
const nameColumns = 20

/** `wrong    gRPC    What is wrong. What to do.`, wrapped where the terminal ends. */
export const findingText = ({ check, status, message, remedy }: NamedFinding, style: FindingsStyle): string => {
  const { paint, columns } = style
  const text = plainText(remedy === undefined ? message : `${message} ${remedy}`)
  // Below the head where little would be left beside it.
  const isBeside = columns === undefined || columns >= 2 * (statusColumns + nameColumns)
  const indent = isBeside ? statusColumns + nameColumns : 2
  const lines = columns === undefined ? [text] : wrapText(text, columns - indent)
  const head = paint(colors[status], status.padEnd(statusColumns)) + (isBeside ? check.padEnd(nameColumns) : check)
  const body = lines.map((line) => ' '.repeat(indent) + line)
  return isBeside ? `${head}${body.join('\n').slice(indent)}\n` : `${head}\n${body.join('\n')}\n`
}

/** `12 ok, 1 warning, 0 wrong`. */
export const findingsSummary = (findings: readonly NamedFinding[]): string => {
  const count = (status: Status): number => findings.filter((finding) => finding.status === status).length
  const warnings = count('warning')
  return `${count('ok')} ok, ${warnings} ${warnings === 1 ? 'warning' : 'warnings'}, ${count('wrong')} wrong\n`
}
