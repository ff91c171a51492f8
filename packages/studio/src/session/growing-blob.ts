/**
 * A file that grows at its end. Its pieces are in the memory of the page (Firefox holds all Blobs there that a page
 * made) until `moveToDisk` replaces them.
 */
export class GrowingBlob {
  #pieces: Blob[] = []

  append(content: Uint8Array<ArrayBuffer>): void {
    this.#pieces.push(new Blob([content]))
  }

  clear(): void {
    this.#pieces = []
  }

  /** All of it, which copies nothing. */
  whole(): Blob {
    return new Blob(this.#pieces)
  }

  /**
   * Replaces what begins at `fromBytes` by the same content in a file of the browser. Nothing happens if pieces do not
   * begin and end where it does.
   */
  moveToDisk(fromBytes: number, file: Blob): void {
    const [first, end] = [this.#pieceAt(fromBytes), this.#pieceAt(fromBytes + file.size)]
    if (first === undefined || end === undefined) return
    // One piece: for each, Chromium opens a pipe with each new Blob, and keeps memory for it.
    this.#pieces.splice(0, end, new Blob([...this.#pieces.slice(0, first), file]))
  }

  #pieceAt(bytes: number): number | undefined {
    let from = 0
    for (let at = 0; from <= bytes; at += 1) {
      if (from === bytes) return at
      const piece = this.#pieces[at]
      if (piece === undefined) return undefined
      from += piece.size
    }
    return undefined
  }
}
