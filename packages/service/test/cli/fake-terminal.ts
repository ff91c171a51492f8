import type { ScreenStream } from '../../src/cli/view/live-screen.js'

/** The features of a terminal that the screen uses: lines that wrap, one cursor, erasing below it (ECMA-48). */
export class FakeTerminal {
  #rows: string[] = ['']
  #row = 0
  #column = 0

  constructor(
    public columns: number,
    readonly rows = 24,
  ) {}

  /** One of the output streams, as a terminal or as a pipe. */
  stream(isTTY = true): ScreenStream {
    const columnsOf = (): number => this.columns
    return {
      isTTY,
      get columns() {
        return columnsOf()
      },
      rows: this.rows,
      write: (text: string) => this.#take(text),
    }
  }

  /** Takes what was written for a terminal. */
  take(text: string): void {
    this.#take(text)
  }

  /** The text on the screen, without trailing empty lines. */
  get screen(): readonly string[] {
    const last = this.#rows.findLastIndex((row) => row.trim() !== '')
    return this.#rows.slice(0, last + 1).map((row) => row.trimEnd())
  }

  #take(text: string): void {
    // eslint-disable-next-line no-control-regex -- what a terminal reads
    for (const [piece] of text.matchAll(/\u001b\[\??(\d*)([A-Za-z])|[^]/gu)) this.#apply(piece)
  }

  #apply(piece: string): void {
    if (piece === '\n') this.#moveTo(this.#row + 1, 0)
    else if (piece === '\r') this.#column = 0
    else if (/[mhl]$/.test(piece) && piece.length > 1) return
    else if (piece.endsWith('A') && piece.length > 1) this.#moveTo(this.#row - Number(piece.slice(2, -1)), this.#column)
    else if (piece === '\u001b[J') this.#eraseBelow()
    else this.#put(piece)
  }

  #put(character: string): void {
    if (this.#column === this.columns) this.#moveTo(this.#row + 1, 0)
    const row = (this.#rows[this.#row] ?? '').padEnd(this.#column)
    this.#rows[this.#row] = row.slice(0, this.#column) + character + row.slice(this.#column + 1)
    this.#column += 1
  }

  #moveTo(row: number, column: number): void {
    this.#row = Math.max(0, row)
    this.#column = column
    while (this.#rows.length <= this.#row) this.#rows.push('')
  }

  #eraseBelow(): void {
    this.#rows[this.#row] = (this.#rows[this.#row] ?? '').slice(0, this.#column)
    this.#rows.length = this.#row + 1
  }
}
