import { bytesPerFrame, bytesForMs, msForBytes, type AudioFormat } from '../audio/format.js'
import { joinBytes } from '../audio/join-bytes.js'
import type { GapCause } from '../protocol/session-event.js'

/** A stretch of the source's audio that was not sent, in milliseconds from its first byte. */
export interface Gap {
  readonly fromMs: number
  readonly toMs: number
  readonly cause: GapCause
}

/** What the audio on its way out is, and its bounds. */
export interface AudioBounds {
  readonly format: AudioFormat
  /** How much may wait, in milliseconds; Infinity for a source that waits itself. */
  readonly maxBufferMs: number
  /** The longest piece that is handed out, in bytes of the source. */
  readonly maxAudioMessageBytes: number
}

/** Bytes that wait, and where they stood in the source. */
interface Piece {
  readonly at: number
  readonly bytes: Uint8Array
}

/** A stretch of the source, in bytes. */
interface Stretch {
  readonly from: number
  readonly to: number
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
  /** All bytes that came in whole frames, whether held, sent or dropped. */
  #captured = 0
  /** What did not fit and is not told yet, for more of it may follow. */
  #dropped: Stretch | undefined
  /** The beginning of a frame whose end has not come. */
  #cut: Uint8Array = empty

  constructor({ format, maxBufferMs, maxAudioMessageBytes }: AudioBounds) {
    this.#format = format
    this.#frameBytes = bytesPerFrame(format)
    this.#maxBytes = bytesForMs(format, maxBufferMs)
    this.#maxPieceBytes = maxAudioMessageBytes - (maxAudioMessageBytes % this.#frameBytes)
  }

  get isEmpty(): boolean {
    return this.#heldBytes === 0
  }

  /** True when `bytes` could go out as they are: nothing stands before them, and they are whole frames of one message. */
  passes(bytes: Uint8Array): boolean {
    return (
      this.#heldBytes === 0 &&
      this.#cut.length === 0 &&
      this.#dropped === undefined &&
      bytes.length > 0 &&
      bytes.length <= this.#maxPieceBytes &&
      bytes.length % this.#frameBytes === 0
    )
  }

  /** Counts bytes that went out without waiting. */
  passed(byteCount: number): void {
    this.#captured += byteCount
  }

  /** Takes audio in, at first without a bound: `trim` must follow when what could be sent is shifted out. */
  push(chunk: Uint8Array): void {
    const bytes = this.#cut.length === 0 ? chunk : joinBytes(this.#cut, chunk)
    const whole = bytes.length - (bytes.length % this.#frameBytes)
    this.#cut = whole === bytes.length ? empty : new Uint8Array(bytes.subarray(whole))
    for (let start = 0; start < whole; start += this.#maxPieceBytes) {
      const piece = bytes.subarray(start, Math.min(whole, start + this.#maxPieceBytes))
      this.#pieces.push({ at: this.#captured + start, bytes: piece })
    }
    this.#captured += whole
    this.#heldBytes += whole
  }

  /** Drops the newest audio beyond the bound; returns the gap that ended with what was kept, if one did. */
  trim(): Gap | undefined {
    const excess = Math.max(0, this.#heldBytes - this.#maxBytes)
    const from = this.#captured - excess
    if (excess > 0) this.#dropNewest(excess)
    const before = this.#dropped
    if (before?.to === from) {
      if (excess > 0) this.#dropped = { from: before.from, to: this.#captured }
      return undefined
    }
    this.#dropped = excess > 0 ? { from, to: this.#captured } : undefined
    return before && this.#gap(before, 'buffer-full')
  }

  /** The next piece to send, or undefined when nothing waits. */
  shift(): Uint8Array | undefined {
    const piece = this.#pieces[this.#head]
    if (piece === undefined) return undefined
    this.#head += 1
    this.#heldBytes -= piece.bytes.length
    if (this.#heldBytes === 0) this.#forget()
    else if (this.#head === piecesToForget) {
      this.#pieces = this.#pieces.slice(this.#head)
      this.#head = 0
    }
    return piece.bytes
  }

  /** At the end of the source: the gaps that are still open, a cut sample being one. */
  end(): readonly Gap[] {
    return this.#close('cut-sample')
  }

  /** Drops what waits, and tells it, stretch by stretch. */
  drop(cause: GapCause): readonly Gap[] {
    const stretches: Stretch[] = []
    for (const { at, bytes } of this.#pieces.slice(this.#head)) {
      const last = stretches.at(-1)
      if (last?.to === at) stretches[stretches.length - 1] = { from: last.from, to: at + bytes.length }
      else stretches.push({ from: at, to: at + bytes.length })
    }
    this.#forget()
    return [...stretches.map((stretch) => this.#gap(stretch, cause)), ...this.#close(cause)]
  }

  #close(causeOfCut: GapCause): readonly Gap[] {
    const open = this.#dropped
    const cut = { from: this.#captured, to: this.#captured + this.#cut.length }
    this.#dropped = undefined
    this.#cut = empty
    return [
      ...(open === undefined ? [] : [this.#gap(open, 'buffer-full')]),
      ...(cut.from === cut.to ? [] : [this.#gap(cut, causeOfCut)]),
    ]
  }

  #dropNewest(byteCount: number): void {
    let left = byteCount
    while (left > 0) {
      const last = this.#pieces.pop()
      if (last === undefined) break
      const kept = Math.max(0, last.bytes.length - left)
      // A copy, for a view would keep all the bytes that are dropped here.
      if (kept > 0) this.#pieces.push({ at: last.at, bytes: new Uint8Array(last.bytes.subarray(0, kept)) })
      left -= last.bytes.length - kept
    }
    this.#heldBytes -= byteCount
    if (this.#heldBytes === 0) this.#forget()
  }

  #forget(): void {
    this.#pieces = []
    this.#head = 0
    this.#heldBytes = 0
  }

  #gap({ from, to }: Stretch, cause: GapCause): Gap {
    return { fromMs: msForBytes(this.#format, from), toMs: msForBytes(this.#format, to), cause }
  }
}

const empty = new Uint8Array(0)

/** After so many pieces that went out their places are given up, so that a queue that never runs empty does not grow. */
const piecesToForget = 256
