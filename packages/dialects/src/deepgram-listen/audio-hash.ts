import { createHash } from 'node:crypto'

const collectedBytes = 8_192

/** The SHA-256 of audio in small pieces. They are collected, because a call of the hash costs more than a copy. */
export class AudioHash {
  readonly #hash = createHash('sha256')
  readonly #collected = new Uint8Array(collectedBytes)
  #length = 0

  update(bytes: Uint8Array): void {
    if (this.#length + bytes.length > collectedBytes) this.#flush()
    if (bytes.length > collectedBytes) {
      this.#hash.update(bytes)
      return
    }
    this.#collected.set(bytes, this.#length)
    this.#length += bytes.length
  }

  /** In hexadecimal; once, at the end. */
  digest(): string {
    this.#flush()
    return this.#hash.digest('hex')
  }

  #flush(): void {
    this.#hash.update(this.#collected.subarray(0, this.#length))
    this.#length = 0
  }
}
