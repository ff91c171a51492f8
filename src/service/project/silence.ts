import { bytesForMs, type AudioFormat, type Encoding } from '../../audio/format.js'

/** The code of a sample without sound: 0 of PCM, and the nearest to it of ITU-T G.711. */
const quiet: Readonly<Record<Encoding, number>> = { pcm: 0, ulaw: 0xff, alaw: 0xd5 }

/** The longest piece of silence that is given at a time, in milliseconds. */
const pieceMs = 250

const pieces = new Map<string, Uint8Array>()

/** One piece of silence, made once for each format and shared by all: it is not to be changed. */
export const silencePiece = (format: AudioFormat): Uint8Array => {
  const key = `${format.encoding} ${format.sampleRateHz} ${format.channels}`
  const piece = pieces.get(key) ?? new Uint8Array(bytesForMs(format, pieceMs)).fill(quiet[format.encoding])
  // Whoever opens sessions of ever other rates is not to fill the memory.
  if (pieces.size < 50) pieces.set(key, piece)
  return piece
}

/** So many bytes of silence, in pieces. */
export const silenceIn = (format: AudioFormat, byteCount: number): readonly Uint8Array[] => {
  const piece = silencePiece(format)
  return Array.from({ length: Math.ceil(byteCount / piece.length) }, (_none, at) =>
    piece.subarray(0, Math.min(piece.length, byteCount - at * piece.length)),
  )
}
