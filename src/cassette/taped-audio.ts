import { createHash } from 'node:crypto'
import type { TapedMessage } from './cassette.js'
import { bytesOfTaped } from './taped-message.js'

/**
 * One recorded message of audio, and what of it has been heard. A client may cut its audio otherwise than the recorded
 * one did; only the bytes count.
 */
export class TapedAudio {
  readonly #message: TapedMessage
  readonly #parts: Uint8Array[] = []
  #missingBytes: number

  constructor(message: TapedMessage) {
    this.#message = message
    this.#missingBytes = message.bytes ?? 0
  }

  get isComplete(): boolean {
    return this.#missingBytes === 0
  }

  /** Takes what belongs to this message; gives what is of the next one. */
  take(bytes: Uint8Array): Uint8Array {
    const part = bytes.subarray(0, this.#missingBytes)
    this.#missingBytes -= part.length
    this.#parts.push(part)
    return bytes.subarray(part.length)
  }

  /** Whether what was heard is what was recorded. */
  isSame(): boolean {
    const { sha256 } = this.#message
    const heard = this.#parts.length === 1 ? this.#parts[0] : Buffer.concat(this.#parts)
    if (heard === undefined) return true
    return sha256 === undefined
      ? Buffer.compare(heard, bytesOfTaped(this.#message)) === 0
      : createHash('sha256').update(heard).digest('hex') === sha256
  }
}
