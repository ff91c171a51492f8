import { positionOf, type Span } from './source-text.js'

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

  /** In the order of the file. */
  get inOrder(): readonly ProjectFault[] {
    return this.#all.toSorted((one, other) => one.span.from - other.span.from)
  }
}

/** One line: `call.yaml:7:5: nodes.left must be …`. */
export const faultLine = (fileName: string, text: string, { span, path, message, severity }: ProjectFault): string => {
  const { line, column } = positionOf(text, span.from)
  const subject = path === '' ? 'The file' : path
  return `${fileName}:${line}:${column}: ${severity === 'warning' ? 'warning: ' : ''}${subject} ${message}`
}
