import { joinBytes } from './format.js'

/** Makes whole frames of audio that is cut anywhere: an incomplete frame is carried over to the next bytes. */
export class FrameAligner {
  readonly #frameBytes: number
  #cut = nothing

  constructor(frameBytes: number) {
    this.#frameBytes = frameBytes
  }

  /** The frames that the bytes complete, possibly none. Whole frames after whole frames pass unchanged. */
  push(bytes: Uint8Array): Uint8Array {
    const joined = this.#cut.byteLength === 0 ? bytes : joinBytes(this.#cut, bytes)
    const whole = joined.byteLength - (joined.byteLength % this.#frameBytes)
    if (whole === joined.byteLength) {
      this.#cut = nothing
      return joined
    }
    // A copy, because the source can reuse its buffer.
    this.#cut = new Uint8Array(joined.subarray(whole))
    return joined.subarray(0, whole)
  }

  /** Takes the incomplete frame at the end; empty if there is none. */
  rest(): Uint8Array {
    const cut = this.#cut
    this.#cut = nothing
    return cut
  }
}

const nothing: Uint8Array = new Uint8Array(0)
