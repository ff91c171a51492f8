/** Text that waits until it is put into a Blob, which the browser may keep on disk. */
const pieceLength = 262_144

/** Lines of a file that grows with the session. */
export class TextLog {
  readonly #pieces: Blob[] = []
  #lines: string[] = []
  #length = 0

  add(line: string): void {
    this.#lines.push(line)
    this.#length += line.length
    if (this.#length < pieceLength) return
    this.#pieces.push(new Blob([`${this.#lines.join('\n')}\n`]))
    this.#lines = []
    this.#length = 0
  }

  blob(): Blob {
    return new Blob([...this.#pieces, ...this.#lines.map((line) => `${line}\n`)])
  }
}
