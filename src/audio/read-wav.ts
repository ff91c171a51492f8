import { createByteReader, type ByteReader } from './byte-reader.js'
import { bytesPerFrame, msForBytes, type AudioFormat } from './format.js'
import { joinBytes } from './join-bytes.js'
import { longestFormatBytes, parseWavFormat, refuseWav } from './wav-format.js'

/** How far into a file its samples may begin; whoever puts more before them is not sending speech. */
export const maxWavHeaderBytes = 1024 * 1024

export interface WavStream {
  readonly format: AudioFormat
  /** How long the file says it lasts; absent when its writer did not know (a streamed length). */
  readonly durationMs?: number
  /** The samples as coded in the file, in pieces of whole frames. To be iterated once. */
  readonly audio: AsyncIterable<Uint8Array>
}

interface WavHeader {
  readonly format: AudioFormat
  /** Undefined when the writer could not know: the samples then run to the end of the source. */
  readonly dataByteCount: number | undefined
}

/**
 * Lengths that writers to a pipe leave behind. The ranges hold 0xffffffff less a header, and the numbers about
 * 2^31 that recorders use as "no end".
 */
const isStreamedLength = (byteCount: number): boolean =>
  byteCount === 0 || byteCount >= 0xfffff000 || (byteCount >= 0x7ffff000 && byteCount <= 0x80000000)

const nameAt = (bytes: Uint8Array, offset: number): string => String.fromCharCode(...bytes.subarray(offset, offset + 4))

const lengthAt = (bytes: Uint8Array, offset: number): number =>
  new DataView(bytes.buffer, bytes.byteOffset).getUint32(offset, true)

/** A name of a chunk as it may stand in a message: what is not plain ASCII is a dot. */
const printable = (name: string): string => name.replace(/[^\x20-\x7e]/g, '.')

const readRiff = async (reader: ByteReader): Promise<number> => {
  const riff = await reader.read(12)
  const isWav = riff.length === 12 && nameAt(riff, 0) === 'RIFF' && nameAt(riff, 8) === 'WAVE'
  return isWav
    ? lengthAt(riff, 4)
    : refuseWav('This is no RIFF/WAVE file; RF64, RIFX and compressed files must be converted first.')
}

const readFormat = async (reader: ByteReader, byteCount: number): Promise<AudioFormat> => {
  const kept = Math.min(byteCount, longestFormatBytes)
  const bytes = await reader.read(kept)
  if (bytes.length < kept) refuseWav('The WAV file ends within its header.')
  const format = parseWavFormat(bytes)
  await reader.skip(byteCount - kept + (byteCount % 2))
  return format
}

/** An empty data chunk is a streamed length, unless the file says that other chunks follow it or really ends there. */
const checkStreamedData = async (reader: ByteReader, riffByteCount: number, dataByteCount: number): Promise<void> => {
  const chunksFollow = !isStreamedLength(riffByteCount) && riffByteCount + 8 > reader.positionBytes()
  if ((dataByteCount === 0 && chunksFollow) || (await reader.atEnd())) refuseWav('The WAV file holds no samples.')
}

const readHeader = async (reader: ByteReader): Promise<WavHeader> => {
  const riffByteCount = await readRiff(reader)
  let format: AudioFormat | undefined
  for (;;) {
    const head = await reader.read(8)
    if (head.length < 8) return refuseWav('The WAV file ends before its data chunk.')
    const name = nameAt(head, 0)
    const byteCount = lengthAt(head, 4)
    if (name === 'data') {
      if (format === undefined) return refuseWav('The WAV file has its samples before their format.')
      if (isStreamedLength(byteCount)) {
        await checkStreamedData(reader, riffByteCount, byteCount)
        return { format, dataByteCount: undefined }
      }
      const frameBytes = bytesPerFrame(format)
      if (byteCount % frameBytes !== 0) {
        refuseWav(
          `The WAV header is wrong: its ${byteCount} bytes of data are not whole frames of ${frameBytes} bytes.`,
        )
      }
      return { format, dataByteCount: byteCount }
    }
    if (reader.positionBytes() + byteCount > maxWavHeaderBytes) {
      refuseWav(
        `The "${printable(name)}" chunk of the WAV file claims ${byteCount} bytes; its samples must begin within ${maxWavHeaderBytes} bytes.`,
      )
    }
    if (name !== 'fmt ') await reader.skip(byteCount + (byteCount % 2))
    else if (format === undefined) format = await readFormat(reader, byteCount)
    else refuseWav('The WAV file has two "fmt " chunks.')
  }
}

async function* wholeFrames(reader: ByteReader, header: WavHeader): AsyncGenerator<Uint8Array, undefined> {
  const frameBytes = bytesPerFrame(header.format)
  const total = header.dataByteCount ?? Infinity
  let left = total
  let cut: Uint8Array = new Uint8Array(0)
  try {
    for (let part = await reader.take(left); part !== undefined; part = await reader.take(left)) {
      left -= part.length
      const bytes = cut.length === 0 ? part : joinBytes(cut, part)
      const wholeByteCount = bytes.length - (bytes.length % frameBytes)
      // A copy, since the source may fill its buffer anew.
      cut = new Uint8Array(bytes.subarray(wholeByteCount))
      if (wholeByteCount > 0) yield bytes.subarray(0, wholeByteCount)
    }
    if (left > 0 && left < Infinity) {
      refuseWav(`The WAV file ends early: ${left} of the ${total} bytes of its data chunk are missing.`)
    }
    if (cut.length > 0) refuseWav(`The WAV file ends within a frame: ${cut.length} of ${frameBytes} bytes are there.`)
    return undefined
  } finally {
    await reader.release()
  }
}

/** A generator that was never started would not run its `finally`, so `return` releases the source itself, and at once. */
const releasing = (
  frames: AsyncGenerator<Uint8Array, undefined>,
  reader: ByteReader,
): AsyncIterableIterator<Uint8Array> => ({
  next: () => frames.next(),
  return: async () => {
    await reader.release()
    return frames.return(undefined)
  },
  [Symbol.asyncIterator]() {
    return this
  },
})

/**
 * Reads the header of a RIFF/WAVE source and gives its samples as a stream. The source may be sliced anyhow.
 *
 * - Read are 16-bit PCM, µ-law and A-law of 1 or 2 channels at 8000 to 48000 Hz, plain or WAVE_FORMAT_EXTENSIBLE, with any chunks
 *   before the samples. Chunks after them are never taken for audio. A data length of 0, of 0xffffffff or near 2^31 means
 *   "until the source ends", as writers to a pipe leave it.
 * - All else rejects with `invalid-wav`, which names what is wrong: not a WAV file, no samples, another coding, a header
 *   whose numbers disagree, a rate outside the bounds, no samples within the first `maxWavHeaderBytes`.
 * - Truncated: what is there comes first, whole frames of it, and then the iteration throws `invalid-wav` with the number
 *   of bytes that are missing.
 * - Errors of the source pass through unchanged.
 * - Buffered is never more than one piece of the source; the pieces of `audio` are views of the source's where they can be.
 * - The source's `return` is called when the samples are complete, when the iteration is left early (also before its
 *   first step), and when the header is refused. Whoever does not want the audio must call `return` on its iterator.
 */
export const readWav = async (source: AsyncIterable<Uint8Array>): Promise<WavStream> => {
  const reader = createByteReader(source)
  try {
    const header = await readHeader(reader)
    const { format, dataByteCount } = header
    const audio = releasing(wholeFrames(reader, header), reader)
    return dataByteCount === undefined
      ? { format, audio }
      : { format, audio, durationMs: msForBytes(format, dataByteCount) }
  } catch (error) {
    // The refusal matters more than a source that cannot close.
    await reader.release().catch(() => undefined)
    throw error
  }
}
