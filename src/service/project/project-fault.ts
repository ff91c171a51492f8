import { positionOf, type Span } from './source-text.js'
import { maxReportedFaults } from './yaml-bounds.js'

/** What is wrong with a project, and where. */
export interface ProjectFault {
  /** A warning does not keep a project from running. */
  readonly severity: 'error' | 'warning'
  /** The way to the key, such as `nodes.left.options.gainDb`; empty for the file itself. */
  readonly path: string
  /** What was expected there; completes the path to a sentence. */
  readonly message: string
  readonly span: Span
}

/** Collects what is wrong, all of it. */
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

  /** The first of them in the order of the file, errors before warnings where not all are told, and how many more there are. */
  get inOrder(): readonly ProjectFault[] {
    const all = this.#all.toSorted((one, other) => one.span.from - other.span.from)
    if (all.length <= maxReportedFaults) return all
    const errors = all.filter(({ severity }) => severity === 'error')
    const told = (errors.length > 0 ? errors : all).slice(0, maxReportedFaults)
    const more: ProjectFault = {
      severity: errors.length > 0 ? 'error' : 'warning',
      path: '',
      message: `has ${all.length - told.length} more faults; correct these first`,
      span: told.at(-1)?.span ?? { from: 0, to: 0 },
    }
    return [...told, more]
  }
}

/** One line: `call.yaml:7:5: nodes.left must be …`. */
export const faultLine = (fileName: string, text: string, { span, path, message, severity }: ProjectFault): string => {
  const { line, column } = positionOf(text, span.from)
  const subject = path === '' ? 'The file' : path
  return `${fileName}:${line}:${column}: ${severity === 'warning' ? 'warning: ' : ''}${subject} ${message}`
}
