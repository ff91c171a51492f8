import { rowsOf } from './plain-text.js'

/** A stream that may be a terminal. */
export interface ScreenStream {
  readonly write: (text: string) => unknown
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
}

export interface ScreenOptions {
  readonly out: ScreenStream
  readonly err: ScreenStream
  readonly env: Readonly<Record<string, string | undefined>>
}

/** The width of what is no terminal. */
export const defaultColumns = 80
const defaultRows = 24
/** Moves up by the rows and to the beginning of the line, and erases everything below (ECMA-48). */
const erase = (rowsUp: number): string => `${rowsUp > 0 ? `\u001b[${rowsUp}A` : ''}\r\u001b[J`

/**
 * Finished lines on stdout and, below them on a terminal, lines that change: live ones on stdout and the progress on
 * stderr. The two streams are usually one terminal with one cursor, so only this object writes to either: it erases the
 * changing lines before it prints, and paints them again below.
 */
export class LiveScreen {
  /** Whether lines that change can be shown on stdout. */
  readonly showsLive: boolean
  /** Whether the progress can be shown on stderr. */
  readonly showsProgress: boolean
  readonly #out: ScreenStream
  readonly #err: ScreenStream
  /** The lines below the finished ones; the cursor is at the end of the last one. */
  #painted: readonly string[] = []

  constructor({ out, err, env }: ScreenOptions) {
    const isCapable = env['TERM'] !== 'dumb'
    this.#out = out
    this.#err = err
    this.showsLive = isCapable && out.isTTY === true
    this.showsProgress = isCapable && err.isTTY === true
  }

  /** Columns of a changing line in one row: one less than the terminal has, so that it does not wrap the line. */
  get columns(): number {
    const { columns = 0 } = this.showsLive ? this.#out : this.#err
    return Math.max(1, (columns === 0 ? defaultColumns : columns) - 1)
  }

  /** Rows that changing lines may take: one less than the terminal has, because nothing above them can be erased. */
  get rows(): number {
    const { rows = 0 } = this.showsLive ? this.#out : this.#err
    return Math.max(1, (rows === 0 ? defaultRows : rows) - 1)
  }

  /** Prints whole lines that stay. The changing lines are gone until the next `paint`. */
  print(lines: string): void {
    this.clear()
    this.#out.write(lines)
  }

  /** Prints whole lines on stderr. */
  note(lines: string): void {
    this.clear()
    this.#err.write(lines)
  }

  /** Replaces the changing lines by these, which take not more than `rows` together. */
  paint(live: readonly string[], progress: readonly string[]): void {
    const lines = this.showsLive ? live : []
    const bars = this.showsProgress ? progress : []
    if (this.showsLive) {
      this.#out.write(this.#erasing() + lines.join('\n') + (bars.length > 0 && lines.length > 0 ? '\n' : ''))
      if (bars.length > 0) this.#err.write(bars.join('\n'))
    } else if (this.showsProgress) {
      this.#err.write(this.#erasing() + bars.join('\n'))
    }
    this.#painted = [...lines, ...bars]
  }

  /** Erases the changing lines. */
  clear(): void {
    if (this.#painted.length === 0) return
    const stream = this.showsLive ? this.#out : this.#err
    stream.write(this.#erasing())
    this.#painted = []
  }

  #erasing(): string {
    return this.#painted.length === 0 ? '' : erase(this.#rows() - 1)
  }

  /** The terminal has wrapped long lines, and others when it became narrower. */
  #rows(): number {
    const columns = this.columns + 1
    return this.#painted.reduce((rows, line) => rows + rowsOf(line.replace(styling, ''), columns), 0)
  }
}

// eslint-disable-next-line no-control-regex -- the sequences that `paint` of this folder writes itself
const styling = /\u001b\[\d*m/g
