/** Bits of the first two bytes of a frame (RFC 6455 section 5.2). */
const opcodeBits = 0x0f
const controlBit = 0x08
const maskBit = 0x80
const lengthBits = 0x7f

/** The bytes of a longer length, by the length in the second byte. */
const lengthBytes: Readonly<Record<number, number>> = { 126: 2, 127: 8 }

/**
 * Counts the frames of a WebSocket client that are no message of their own: control frames, and all but the first frame
 * of a message (RFC 6455 section 5.4). They carry no audio, and the package `ws` reports only some of them.
 */
export class FrameCounter {
  #opcode = 0
  #isMasked = false
  #length = 0
  /** Bytes of the header that were read, and that it has before the mask. */
  #readBytes = 0
  #headerBytes = 2
  /** Bytes until the next header. */
  #skipBytes = 0

  /** Reads a part of the connection; returns how many such frames begin in it. */
  push(part: Uint8Array): number {
    let count = 0
    let at = 0
    while (at < part.length) {
      const skipped = Math.min(this.#skipBytes, part.length - at)
      this.#skipBytes -= skipped
      at += skipped
      const byte = part[at]
      if (byte === undefined) break
      at += 1
      if (this.#isHeader(byte) && (this.#opcode === 0 || (this.#opcode & controlBit) !== 0)) count += 1
    }
    return count
  }

  /** Returns whether the header is complete with this byte. */
  #isHeader(byte: number): boolean {
    this.#readBytes += 1
    if (this.#readBytes === 1) this.#opcode = byte & opcodeBits
    else if (this.#readBytes === 2) {
      this.#isMasked = (byte & maskBit) !== 0
      this.#length = byte & lengthBits
      const more = lengthBytes[this.#length] ?? 0
      this.#headerBytes = 2 + more
      if (more > 0) this.#length = 0
    } else this.#length = this.#length * 256 + byte
    if (this.#readBytes < this.#headerBytes) return false
    this.#skipBytes = this.#length + (this.#isMasked ? 4 : 0)
    this.#readBytes = 0
    this.#headerBytes = 2
    return true
  }
}
