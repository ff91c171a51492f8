import { bytesPerFrame, bytesForMs, msForBytes, type AudioFormat } from '../audio/format.js'
import { joinBytes } from '../audio/join-bytes.js'
import type { GapCause } from '../protocol/session-event.js'

/** A stretch of the source's audio that was not sent, in milliseconds from its first byte. */
export interface Gap {
  readonly fromMs: number
  readonly toMs: number
  readonly cause: GapCause
}

/** Bytes that wait, and where they stood in the source. */
interface Piece {
  readonly at: number
  readonly bytes: Uint8Array
}

/**
 * The audio that waits to be sent, first in, first out, up to a bound in milliseconds. It hands out whole frames only
 * (a message must not cut a sample), in pieces of a bounded size, without copying, and knows where in the source's
 * timeline every byte stood, so that what did not fit is told exactly, one gap for one stretch.
 */
export class AudioQueue {
  readonly #format: AudioFormat
  readonly #frameBytes: number
  readonly #maxBytes: number
  readonly #maxPieceBytes: number
  #pieces: Piece[] = []
  #head = 0
  #heldBytes = 0
  /** All bytes that came, whether held, sent or dropped. */
  #captured = 0
  /** Where an open gap began, in bytes of the source. */
  #gapFrom: number | undefined
  #cut: Uint8Array = empty

  constructor(format: AudioFormat, maxBufferMs: number, maxPieceBytes: number) {
    this.#format = format
    this.#frameBytes = bytesPerFrame(format)
    this.#maxBytes = bytesForMs(format, maxBufferMs)
    this.#maxPieceBytes = maxPieceBytes - (maxPieceBytes % this.#frameBytes)
  }

  get isEmpty(): boolean {
    return this.#heldBytes === 0
  }

  /** True when `bytes` could go out as they are: nothing waits before them, and they are whole frames of one message. */
  passes(bytes: Uint8Array): boolean {
    return (
      this.#heldBytes === 0 &&
      this.#cut.length === 0 &&
      this.#gapFrom === undefined &&
      bytes.length <= this.#maxPieceBytes &&
      bytes.length % this.#frameBytes === 0
    )
  }

  /** Counts bytes that went out without waiting. */
  passed(byteCount: number): void {
    this.#captured += byteCount
  }

  /** Takes audio in; returns the gap that ended with it, if one did. */
  push(chunk: Uint8Array): Gap | undefined {
    const bytes = this.#cut.length === 0 ? chunk : joinBytes(this.#cut, chunk)
    const whole = bytes.length - (bytes.length % this.#frameBytes)
    const from = this.#captured
    this.#cut = whole === bytes.length ? empty : bytes.slice(whole)
    this.#captured += whole
    const room = Math.max(0, this.#maxBytes - this.#heldBytes)
    const fits = Math.min(whole, room - (room % this.#frameBytes))
    const gap = fits > 0 ? this.#closeGap(from) : undefined
    this.#hold(bytes.subarray(0, fits), from)
    if (fits < whole) this.#gapFrom ??= from + fits
    return gap
  }

  /** The next piece to send, or undefined when nothing waits. */
  shift(): Uint8Array | undefined {
    const piece = this.#pieces[this.#head]
    if (piece === undefined) return undefined
    this.#head += 1
    this.#heldBytes -= piece.bytes.length
    if (this.#head === this.#pieces.length) {
      this.#pieces = []
      this.#head = 0
    }
    return piece.bytes
  }

  /** At the end of the source: the gaps that are still open, a cut sample being one. */
  end(): readonly Gap[] {
    const open = this.#closeGap(this.#captured)
    const cutBytes = this.#cut.length
    this.#cut = empty
    const cut = cutBytes === 0 ? undefined : this.#gap(this.#captured, this.#captured + cutBytes, 'cut-sample')
    return [open, cut].filter((gap) => gap !== undefined)
  }

  /** Drops what waits, and tells it, stretch by stretch. */
  drop(cause: GapCause): readonly Gap[] {
    const gaps: Gap[] = []
    for (const { at, bytes } of this.#pieces.slice(this.#head)) {
      const gap = this.#gap(at, at + bytes.length, cause)
      const last = gaps.at(-1)
      if (last?.toMs === gap.fromMs) gaps[gaps.length - 1] = { ...last, toMs: gap.toMs }
      else gaps.push(gap)
    }
    this.#pieces = []
    this.#head = 0
    this.#heldBytes = 0
    return [...gaps, ...this.end()]
  }

  #hold(bytes: Uint8Array, from: number): void {
    for (let start = 0; start < bytes.length; start += this.#maxPieceBytes) {
      const piece = bytes.subarray(start, Math.min(bytes.length, start + this.#maxPieceBytes))
      this.#pieces.push({ at: from + start, bytes: piece })
    }
    this.#heldBytes += bytes.length
  }

  #closeGap(at: number): Gap | undefined {
    const from = this.#gapFrom
    this.#gapFrom = undefined
    return from === undefined ? undefined : this.#gap(from, at, 'buffer-full')
  }

  #gap(from: number, to: number, cause: GapCause): Gap {
    return { fromMs: msForBytes(this.#format, from), toMs: msForBytes(this.#format, to), cause }
  }
}

const empty = new Uint8Array(0)
