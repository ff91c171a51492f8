/** A part of a text, by its offsets. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** A fault of a project file. */
export interface ProjectFault {
  /** A project with warnings still runs. */
  readonly severity: 'error' | 'warning'
  /** The path to the key, such as `nodes.left.options.gainDb`; empty for the file itself. */
  readonly path: string
  /** What is wrong or expected; completes the path to a sentence. */
  readonly message: string
  readonly span: Span
}

/** How many faults of a file are reported. Further ones are only counted. */
export const maxReportedFaults = 50

/** Collects all faults of a file. */
export class ProjectFaults {
  readonly #all: ProjectFault[] = []

  add(span: Span, path: string, message: string): void {
    this.#all.push({ severity: 'error', span, path, message })
  }

  warn(span: Span, path: string, message: string): void {
    this.#all.push({ severity: 'warning', span, path, message })
  }

  get hasErrors(): boolean {
    return this.#all.some(({ severity }) => severity === 'error')
  }

  /** The first faults in the order of the file, errors before warnings if there are many, and the number of others. */
  get inOrder(): readonly ProjectFault[] {
    const all = this.#all.toSorted((a, b) => a.span.from - b.span.from)
    if (all.length <= maxReportedFaults) return all
    const errors = all.filter(({ severity }) => severity === 'error')
    const reported = (errors.length > 0 ? errors : all).slice(0, maxReportedFaults)
    const more: ProjectFault = {
      severity: errors.length > 0 ? 'error' : 'warning',
      path: '',
      message: `has ${all.length - reported.length} more faults; correct these first`,
      span: reported.at(-1)?.span ?? { from: 0, to: 0 },
    }
    return [...reported, more]
  }
}

/** A fault as one line: `call.yaml:7:5: nodes.left must be …`. */
export const faultLine = (fileName: string, text: string, { span, path, message, severity }: ProjectFault): string => {
  const { line, column } = positionOf(text, span.from)
  const subject = path === '' ? 'The file' : path
  return `${fileName}:${line}:${column}: ${severity === 'warning' ? 'warning: ' : ''}${subject} ${message}`
}

/** The line and the column of an offset, both from 1. */
export const positionOf = (text: string, offset: number): { readonly line: number; readonly column: number } => {
  const before = text.slice(0, offset)
  return { line: before.split('\n').length, column: offset - before.lastIndexOf('\n') }
}

/** The line that a span begins on, with a caret below each of its characters. */
export const excerptOf = (text: string, span: Span): string => {
  const start = text.lastIndexOf('\n', span.from - 1) + 1
  const found = text.indexOf('\n', span.from)
  const end = found === -1 ? text.length : found
  const line = text.slice(start, end).replace(/\r$/, '')
  const indent = line.slice(0, span.from - start).replace(/[^\t]/g, ' ')
  const carets = '^'.repeat(Math.max(1, Math.min(span.to, start + line.length) - span.from))
  return `${line}\n${indent}${carets}`
}
