import { type AudioFormat, bytesForMs, msForBytes } from 'rxspeech/internal/audio/format'
import { silentByte } from 'rxspeech/internal/audio/silence'
import type { NodeItem } from '../../nodes/core/node.js'
import type { NodeFormats } from '../check/audio-formats.js'

/**
 * Counts the audio that a node received and emitted, by port. After a fault, silence can replace the audio that it
 * received and did not emit, so the later times stay correct.
 */
export class AudioBalance {
  readonly #formats: NodeFormats
  readonly #inputs: readonly string[]
  readonly #outputs: readonly string[]
  /** By port; few nodes have more than one. */
  readonly #bytesIn: Record<string, number> = {}
  readonly #bytesOut: Record<string, number> = {}

  constructor(formats: NodeFormats) {
    this.#formats = formats
    this.#inputs = Object.keys(formats.inputs)
    this.#outputs = Object.keys(formats.outputs)
  }

  received(item: NodeItem, port: string): void {
    if (item.type === 'audio') add(this.#bytesIn, port, item.bytes.length)
  }

  emitted(item: NodeItem, port: string): void {
    if (item.type === 'audio') add(this.#bytesOut, port, item.bytes.length)
  }

  /** The audio that the first audio input received, in milliseconds. */
  get receivedMs(): number {
    const [first] = this.#inputs
    return first === undefined ? 0 : lengthMs(this.#bytesIn, first, this.#formats.inputs)
  }

  /** What each audio output lacks compared with the input, in milliseconds; empty for a node without audio input. */
  get missing(): readonly { readonly port: string; readonly missingMs: number }[] {
    if (this.#inputs.length === 0) return []
    const { receivedMs } = this
    return this.#outputs.map((port) => ({
      port,
      missingMs: receivedMs - lengthMs(this.#bytesOut, port, this.#formats.outputs),
    }))
  }
}

const add = (counts: Record<string, number>, port: string, more: number): void => {
  counts[port] = (counts[port] ?? 0) + more
}

const lengthMs = (counts: Readonly<Record<string, number>>, port: string, formats: NodeFormats['inputs']): number => {
  const format = formats[port]
  return format === undefined ? 0 : msForBytes(format, counts[port] ?? 0)
}

/** The longest piece of silence in one item, in milliseconds. */
const maxPieceMs = 250

/** Sessions can have any sample rate; beyond this many formats, pieces of silence are not kept. */
const maxKeptPieces = 50

const pieces = new Map<string, Uint8Array>()

/** A piece of silence, shared by all that ask for the same format: do not change it. */
export const silencePiece = (format: AudioFormat): Uint8Array => {
  const key = `${format.encoding} ${format.sampleRateHz} ${format.channels}`
  const kept = pieces.get(key)
  if (kept !== undefined) return kept
  const piece = new Uint8Array(bytesForMs(format, maxPieceMs)).fill(silentByte(format.encoding))
  if (pieces.size < maxKeptPieces) pieces.set(key, piece)
  return piece
}

/** Silence of `byteCount` bytes, in pieces. */
export const silenceOf = (format: AudioFormat, byteCount: number): readonly Uint8Array[] => {
  const piece = silencePiece(format)
  return Array.from({ length: Math.ceil(byteCount / piece.length) }, (_none, index) =>
    piece.subarray(0, Math.min(piece.length, byteCount - index * piece.length)),
  )
}
