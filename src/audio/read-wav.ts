import { SpeechError } from '../errors/speech-error.js'
import { createByteReader, type ByteChunks, type ByteReader } from './byte-reader.js'
import type { AudioFormat } from './format.js'
import { FrameAligner } from './frame-aligner.js'
import {
  isStreamedLength,
  knownChunks,
  lengthAt,
  looksLikeChunk,
  nameAt,
  peekHead,
  printable,
  riffNames,
  takeBeforeFile,
} from './wav-chunks.js'
import {
  copyRemedy,
  lengthRemedy,
  maxFormatBytes,
  parseWavFormat,
  refuseOtherFile,
  refuseWav,
  remedy,
  type WavFormat,
} from './wav-header.js'
import { streamedSamples, wavSampleBytes } from './wav-samples.js'

/** The maximum size of everything before the samples. */
export const maxWavHeaderBytes = 1024 * 1024

/** The format of a WAV file, and its samples as a stream. */
export interface WavStream {
  /** The format of the samples: that of the file, or 16-bit PCM for wider samples. */
  readonly format: AudioFormat
  /** The duration in the header of the first data chunk; absent for a streamed length. */
  readonly durationMs?: number
  /** The samples in that format, in chunks of whole frames. Can be iterated once. */
  readonly audio: AsyncIterable<Uint8Array>
}

interface WavHeader extends WavFormat {
  /** Undefined for a streamed length: the samples end with the source. */
  readonly dataByteCount: number | undefined
}

const readRiff = async (reader: ByteReader): Promise<number> => {
  const riff = await reader.read(12)
  const isWav = riff.length === 12 && riffNames.includes(nameAt(riff, 0)) && nameAt(riff, 8) === 'WAVE'
  return isWav ? lengthAt(riff, 4) : refuseOtherFile(riff)
}

const readFormat = async (reader: ByteReader, byteCount: number): Promise<WavFormat> => {
  const kept = Math.min(byteCount, maxFormatBytes)
  const bytes = await reader.read(kept)
  if (bytes.length < kept) refuseWav(`The WAV file ends within its header; ${copyRemedy}`)
  const format = parseWavFormat(bytes)
  await reader.skip(byteCount - kept)
  return format
}

/** The data length of a "ds64" chunk, behind that of the file; 0 if it was never set. */
const readWideLength = async (reader: ByteReader, byteCount: number): Promise<number> => {
  const bytes = await reader.read(Math.min(byteCount, 16))
  if (bytes.length < 16) refuseWav(`The "ds64" chunk of the WAV file is too short; ${remedy}`)
  await reader.skip(byteCount - 16)
  return lengthAt(bytes, 8) + lengthAt(bytes, 12) * 2 ** 32
}

/** An empty data chunk means a streamed length, unless the header announces more chunks or the source ends there. */
const checkStreamedData = async (
  reader: ByteReader,
  { startBytes, riffByteCount }: { readonly startBytes: number; readonly riffByteCount: number },
  dataByteCount: number,
): Promise<void> => {
  const chunksFollow = !isStreamedLength(riffByteCount) && startBytes + riffByteCount + 8 > reader.positionBytes()
  if (await reader.atEnd()) refuseWav('The WAV file holds no samples; pass a recording with sound.')
  if (dataByteCount === 0 && chunksFollow) {
    refuseWav(`The WAV file says that it holds no samples; if that is wrong, ${remedy}`)
  }
}

/** In the file. */
const frameBytesOf = ({ format: { channels }, stored }: WavFormat): number => channels * wavSampleBytes[stored]

/** The length of a "data" chunk; undefined for a streamed one. */
const dataLength = (byteCount: number, wideLength: number, format: WavFormat): number | undefined => {
  if (isStreamedLength(byteCount) && wideLength === 0) return undefined
  const dataByteCount = isStreamedLength(byteCount) ? wideLength : byteCount
  const frameBytes = frameBytesOf(format)
  if (dataByteCount % frameBytes !== 0) {
    refuseWav(
      `The WAV header is wrong: its ${dataByteCount} bytes of data are not whole frames of ${frameBytes} bytes; ${remedy}`,
    )
  }
  return dataByteCount
}

/** Reads everything before the samples. */
const readHeader = async (reader: ByteReader): Promise<WavHeader> => {
  const startBytes = reader.positionBytes()
  const riffByteCount = await readRiff(reader)
  let format: WavFormat | undefined
  let wideLength = 0
  let isAfterOdd = false
  for (;;) {
    const head = await peekHead(reader, isAfterOdd)
    if (head.length < 8) return refuseWav(`The WAV file ends before its data chunk; ${copyRemedy}`)
    await reader.skip(8)
    const name = nameAt(head, 0)
    const byteCount = lengthAt(head, 4)
    if (name === 'data') {
      if (format === undefined) return refuseWav(`The WAV file has its samples before their format; ${remedy}`)
      const dataByteCount = dataLength(byteCount, wideLength, format)
      if (dataByteCount === undefined) await checkStreamedData(reader, { startBytes, riffByteCount }, byteCount)
      return { ...format, dataByteCount }
    }
    if (reader.positionBytes() - startBytes + byteCount > maxWavHeaderBytes) {
      refuseWav(
        `The "${printable(name)}" chunk of the WAV file claims ${byteCount} bytes; its samples must begin within ${maxWavHeaderBytes} bytes; ${remedy}`,
      )
    }
    isAfterOdd = byteCount % 2 === 1
    if (name === 'ds64') wideLength = await readWideLength(reader, byteCount)
    else if (name !== 'fmt ') await reader.skip(byteCount)
    else if (format === undefined) format = await readFormat(reader, byteCount)
    else refuseWav(`The WAV file has two "fmt " chunks; ${remedy}`)
  }
}

/** Samples of the source: as many as a chunk says, or all behind the last chunk, whose length was too small. */
interface Samples {
  /** Undefined up to the end of the source. */
  readonly byteCount: number | undefined
  readonly isOutsideChunks?: boolean
}

/** What players append for their lists (ID3v1, ID3v2, APE), which is no chunk. */
const playerTag = /^(TAG|ID3|APET)/

/** Further samples: of another "data" chunk, of an appended file, or without a chunk. Skips other chunks. */
const findMoreSamples = async (
  reader: ByteReader,
  header: WavHeader,
  byteCountBefore = 0,
): Promise<Samples | undefined> => {
  let isAfterOdd = byteCountBefore % 2 === 1
  for (;;) {
    const head = await peekHead(reader, isAfterOdd)
    const name = nameAt(head, 0)
    if (head.length < 8 || (playerTag.test(name) && !knownChunks.includes(name))) return undefined
    if (riffNames.includes(name)) return { byteCount: await readAppended(reader, header) }
    if (!looksLikeChunk(head, 0)) return { byteCount: undefined, isOutsideChunks: true }
    await reader.skip(8)
    const byteCount = lengthAt(head, 4)
    if (name === 'data' && byteCount > 0) return { byteCount: dataLength(byteCount, 0, header) }
    await reader.skip(byteCount)
    isAfterOdd = byteCount % 2 === 1
  }
}

/** The length of the samples of a WAV file behind another. */
const readAppended = async (reader: ByteReader, first: WavHeader): Promise<number | undefined> => {
  const { format, stored, dataByteCount } = await readHeader(reader)
  const { sampleRateHz, channels } = format
  if (stored !== first.stored || sampleRateHz !== first.format.sampleRateHz || channels !== first.format.channels) {
    refuseWav(
      `Behind its samples the WAV file has another file, of ${stored} at ${sampleRateHz} Hz with ${channels} ${channels === 1 ? 'channel' : 'channels'}; pass the two as files of their own.`,
    )
  }
  return dataByteCount
}

async function* allSamples(reader: ByteReader, header: WavHeader): AsyncGenerator<Uint8Array, undefined> {
  try {
    let samples: Samples | undefined = { byteCount: header.dataByteCount }
    let outsideBytes = 0
    while (samples !== undefined) {
      outsideBytes += yield* wholeFrames(reader, header, samples)
      samples = await findMoreSamples(reader, header, samples.byteCount)
    }
    if (outsideBytes === 0) return undefined
    return refuseWav(
      `The WAV header is wrong: ${outsideBytes} bytes follow the length that it gives, and are taken for samples; ${lengthRemedy}`,
    )
  } finally {
    await reader.release()
  }
}

/** Returns how many bytes were outside of chunks; 0 if these are zeros. */
async function* wholeFrames(
  reader: ByteReader,
  header: WavHeader,
  { byteCount: total = Infinity, isOutsideChunks = false }: Samples,
): AsyncGenerator<Uint8Array, number> {
  const frameBytes = frameBytesOf(header)
  let doneBytes = 0
  let isZero = true
  const aligner = new FrameAligner(frameBytes)
  const take = (): Promise<Uint8Array | undefined> =>
    total === Infinity ? takeBeforeFile(reader) : reader.take(total - doneBytes)
  for (let part = await take(); part !== undefined; part = await take()) {
    doneBytes += part.length
    if (isOutsideChunks) isZero &&= part.every((byte) => byte === 0)
    const frames = aligner.push(part)
    if (frames.length > 0) yield streamedSamples(header.stored, frames)
  }
  if (isOutsideChunks) return isZero ? 0 : doneBytes
  if (doneBytes < total && total < Infinity) {
    refuseWav(
      `The WAV file ends early: ${total - doneBytes} of the ${total} bytes of its data chunk are missing; ${copyRemedy}`,
    )
  }
  const cut = aligner.rest()
  if (cut.length > 0) {
    refuseWav(`The WAV file ends within a frame: ${cut.length} of ${frameBytes} bytes are there; ${copyRemedy}`)
  }
  return 0
}

/**
 * `return` releases the source itself, because a generator that was not started does not run its `finally`. Afterwards,
 * and after the end, a further loop is an error and not an empty file.
 */
const releasing = (
  frames: AsyncGenerator<Uint8Array, undefined>,
  reader: ByteReader,
): AsyncIterableIterator<Uint8Array> => {
  let isOver = false
  return {
    next: async () => {
      const result = await frames.next().catch((error: unknown) => {
        isOver = true
        throw error
      })
      if (result.done === true) isOver = true
      return result
    },
    return: async () => {
      isOver = true
      await reader.release()
      return frames.return(undefined)
    },
    [Symbol.asyncIterator]() {
      if (!isOver) return this
      throw new SpeechError('already-started', 'The audio of readWav was read before; call readWav for each reader.')
    },
  }
}

/**
 * Reads the header of a RIFF/WAVE source and returns its samples as a stream. The source is a Node stream or another
 * async iterable, a Web stream such as the body of a `fetch`, a Blob or File, or an array of chunks of any length.
 *
 * - Supports PCM of 8, 16, 24 and 32 bits, floats of 32 and 64 bits, µ-law and A-law with 1 or 2 channels at 8000 to
 *   48000 Hz, plain or WAVE_FORMAT_EXTENSIBLE, with any chunks before the samples, also in RF64 and BW64. PCM of other
 *   than 16 bits and floats become 16-bit PCM. A data length of 0, of 0xffffffff or near 2^31 means "until the source
 *   ends", as writers to a pipe set it.
 * - Reads all samples of the source: of every data chunk, of WAV files appended to the first one in the same format,
 *   and those behind a data length that is too small; after the last ones the iteration then throws `invalid-wav`.
 *   Ignores other chunks.
 * - Rejects everything else with `invalid-wav`, which names the problem: not a WAV file, no samples, another encoding,
 *   numbers that disagree, a sample rate out of range, no samples within the first `maxWavHeaderBytes`.
 * - A truncated file emits its whole frames; then the iteration throws `invalid-wav` with the number of missing bytes.
 * - Errors of the source pass through unchanged.
 * - Buffers at most one chunk of the source; the chunks of `audio` are views of it if possible.
 * - Reads the source to its end. Calls its `return` when the iteration ends early (also before its first step), and
 *   when the header is refused. A caller that does not need the audio must call `return` on its iterator.
 *
 * @example
 * const { format, audio } = await readWav(createReadStream('call.wav'))
 * recognize({ ...options, format })(audio).subscribe(console.log)
 */
export const readWav = async (source: ByteChunks): Promise<WavStream> => {
  const reader = createByteReader(source)
  try {
    const header = await readHeader(reader)
    const { format, dataByteCount } = header
    const audio = releasing(allSamples(reader, header), reader)
    return dataByteCount === undefined
      ? { format, audio }
      : { format, audio, durationMs: (dataByteCount / frameBytesOf(header) / format.sampleRateHz) * 1000 }
  } catch (error) {
    // Report the wrong header and not an error of closing the source.
    await reader.release().catch(() => undefined)
    throw error
  }
}
