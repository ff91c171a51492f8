import { GrowingBlob } from './growing-blob.js'

/** Text that waits until it is put into a Blob. */
const pieceLength = 262_144

/** Lines of a file that grows with the session. */
export class TextLog {
  readonly #maxLength: number
  readonly #file = new GrowingBlob()
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
      this.#file.clear()
      this.#lines = []
      return
    }
    this.#lines.push(line)
    this.#length += line.length
    if (this.#length >= pieceLength) this.#flush()
  }

  blob(): Blob {
    this.#flush()
    return this.#file.whole()
  }

  /** The lines from a position on, which `blob` gave, are in a file of the browser now. */
  moveToDisk(fromBytes: number, file: Blob): void {
    this.#file.moveToDisk(fromBytes, file)
  }

  #flush(): void {
    if (this.#lines.length === 0) return
    // Firefox holds a text in twice its bytes.
    this.#file.append(new TextEncoder().encode(`${this.#lines.join('\n')}\n`))
    this.#lines = []
    this.#length = 0
  }
}
