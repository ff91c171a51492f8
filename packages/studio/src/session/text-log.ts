/** Text that waits until it is put into a Blob, which the browser may keep on disk. */
const pieceLength = 262_144

/** Lines of a file that grows with the session. */
export class TextLog {
  readonly #maxLength: number
  #pieces: Blob[] = []
  #lines: string[] = []
  #length = 0
  #totalLength = 0

  /** @param maxLength the file is empty once it is longer */
  constructor(maxLength = Infinity) {
    this.#maxLength = maxLength
  }

  get isTooLong(): boolean {
    return this.#totalLength > this.#maxLength
  }

  add(line: string): void {
    this.#totalLength += line.length + 1
    if (this.isTooLong) {
      this.#pieces = []
      this.#lines = []
      return
    }
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
