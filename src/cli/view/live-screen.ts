import { displayWidth } from './plain-text.js'

/** A stream that may be a terminal. */
export interface ScreenStream {
  readonly write: (text: string) => unknown
  readonly isTTY?: boolean
  readonly columns?: number
}

export interface ScreenOptions {
  readonly out: ScreenStream
  readonly err: ScreenStream
  readonly env: Readonly<Record<string, string | undefined>>
}

const defaultColumns = 80
/** Upwards by the rows, to the beginning of the line, and everything from there on away (ECMA-48). */
const erase = (rowsUp: number): string => `${rowsUp > 0 ? `\u001b[${rowsUp}A` : ''}\r\u001b[J`

/**
 * Finished lines on stdout, and below them, where there is a terminal, lines that change: live ones on stdout and the
 * progress on stderr. The two streams are most often one terminal with one cursor, so only this object writes to
 * either: it takes the changing lines away before it prints, and puts them back behind it.
 */
export class LiveScreen {
  /** Whether lines that change can be shown on stdout. */
  readonly showsLive: boolean
  /** Whether the progress can be shown on stderr. */
  readonly showsProgress: boolean
  readonly #out: ScreenStream
  readonly #err: ScreenStream
  /** What stands below the finished lines; the cursor is behind the last one. */
  #painted: readonly string[] = []

  constructor({ out, err, env }: ScreenOptions) {
    const isCapable = env['TERM'] !== 'dumb'
    this.#out = out
    this.#err = err
    this.showsLive = isCapable && out.isTTY === true
    this.showsProgress = isCapable && err.isTTY === true
  }

  /** Columns that a changing line may take: one less than there are, lest the terminal breaks the line. */
  get columns(): number {
    const { columns = 0 } = this.showsLive ? this.#out : this.#err
    return Math.max(1, (columns === 0 ? defaultColumns : columns) - 1)
  }

  /** A line that stays. What changes is away until the next `paint`. */
  print(line: string): void {
    this.clear()
    this.#out.write(`${line}\n`)
  }

  /** A line about the work, on stderr. */
  note(line: string): void {
    this.clear()
    this.#err.write(`${line}\n`)
  }

  /** Shows these lines in place of those before, none wider than `columns`. */
  paint(live: readonly string[], progress: string | undefined): void {
    const lines = this.showsLive ? live : []
    const bar = this.showsProgress ? progress : undefined
    const text = lines.join('\n')
    if (this.showsLive) {
      this.#out.write(this.#erasing() + text + (bar !== undefined && lines.length > 0 ? '\n' : ''))
      if (bar !== undefined) this.#err.write(bar)
    } else if (this.showsProgress) {
      this.#err.write(this.#erasing() + (bar ?? ''))
    }
    this.#painted = bar === undefined ? lines : [...lines, bar]
  }

  /** Takes away what changes. */
  clear(): void {
    if (this.#painted.length === 0) return
    const stream = this.showsLive ? this.#out : this.#err
    stream.write(this.#erasing())
    this.#painted = []
  }

  #erasing(): string {
    return this.#painted.length === 0 ? '' : erase(this.#rows() - 1)
  }

  /** A terminal that became narrower has broken the lines anew. */
  #rows(): number {
    const columns = this.columns + 1
    return this.#painted.reduce((rows, line) => rows + Math.max(1, Math.ceil(widthOf(line) / columns)), 0)
  }
}

// eslint-disable-next-line no-control-regex -- the sequences that `paint` of this folder writes itself
const styling = /\u001b\[\d*m/g
const widthOf = (line: string): number => displayWidth(line.replace(styling, ''))
