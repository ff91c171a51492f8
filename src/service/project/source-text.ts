/** A part of a text, by its offsets. */
export interface Span {
  readonly from: number
  readonly to: number
}

export interface Position {
  /** From 1 on. */
  readonly line: number
  readonly column: number
}

export const positionOf = (text: string, offset: number): Position => {
  const before = text.slice(0, offset)
  return { line: before.split('\n').length, column: offset - before.lastIndexOf('\n') }
}

/** The line that a span begins on, and a caret below each of its characters there. */
export const excerptOf = (text: string, span: Span): string => {
  const start = text.lastIndexOf('\n', span.from - 1) + 1
  const found = text.indexOf('\n', span.from)
  const end = found === -1 ? text.length : found
  const line = text.slice(start, end).replace(/\r$/, '')
  const before = line.slice(0, span.from - start).replace(/[^\t]/g, ' ')
  const carets = '^'.repeat(Math.max(1, Math.min(span.to, start + line.length) - span.from))
  return `${line}\n${before}${carets}`
}
