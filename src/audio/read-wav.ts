import { SpeechError } from '../errors/speech-error.js'
import { joinBytes, type AudioFormat } from './format.js'
import { FrameAligner } from './frame-aligner.js'
import { maxFormatBytes, parseWavFormat, refuseOtherFile, refuseWav, remedy, type WavFormat } from './wav-header.js'
import { streamedSamples, wavSampleBytes } from './wav-samples.js'

/** The maximum size of everything before the samples. */
export const maxWavHeaderBytes = 1024 * 1024

/** The format of a WAV file, and its samples as a stream. */
export interface WavStream {
  /** The format of the samples: that of the file, or 16-bit PCM for wider samples. */
  readonly format: AudioFormat
  /** The duration in the header; absent for a streamed length. */
  readonly durationMs?: number
  /** The samples in that format, in chunks of whole frames. Can be iterated once. */
  readonly audio: AsyncIterable<Uint8Array>
}

interface WavHeader extends WavFormat {
  /** Undefined for a streamed length: the samples end with the source. */
  readonly dataByteCount: number | undefined
}

/**
 * Whether a length is a placeholder of a writer to a pipe. The ranges contain 0xffffffff minus a header, and the numbers
 * near 2^31 that recorders use for an unknown end.
 */
const isStreamedLength = (byteCount: number): boolean =>
  byteCount === 0 || byteCount >= 0xfffff000 || (byteCount >= 0x7ffff000 && byteCount <= 0x80000000)

const nameAt = (bytes: Uint8Array, offset: number): string => String.fromCharCode(...bytes.subarray(offset, offset + 4))

const lengthAt = (bytes: Uint8Array, offset: number): number =>
  new DataView(bytes.buffer, bytes.byteOffset).getUint32(offset, true)

/** The name of a chunk for a message; characters that are not printable ASCII become dots. */
const printable = (name: string): string => name.replace(/[^\x20-\x7e]/g, '.')

/** Of a file with 64-bit lengths (EBU Tech 3306, ITU-R BS.2088), the others. */
const riffNames = ['RIFF', 'RF64', 'BW64']

const readRiff = async (reader: ByteReader): Promise<number> => {
  const riff = await reader.read(12)
  const isWav = riff.length === 12 && riffNames.includes(nameAt(riff, 0)) && nameAt(riff, 8) === 'WAVE'
  return isWav ? lengthAt(riff, 4) : refuseOtherFile(riff)
}

const readFormat = async (reader: ByteReader, byteCount: number): Promise<WavFormat> => {
  const kept = Math.min(byteCount, maxFormatBytes)
  const bytes = await reader.read(kept)
  if (bytes.length < kept) refuseWav('The WAV file ends within its header.')
  const format = parseWavFormat(bytes)
  await reader.skip(byteCount - kept)
  return format
}

/** The data length of a "ds64" chunk, behind that of the file; 0 if it was never set. */
const readWideLength = async (reader: ByteReader, byteCount: number): Promise<number> => {
  const bytes = await reader.read(Math.min(byteCount, 16))
  if (bytes.length < 16) refuseWav('The "ds64" chunk of the WAV file is too short.')
  await reader.skip(byteCount - 16)
  return lengthAt(bytes, 8) + lengthAt(bytes, 12) * 2 ** 32
}

/** The name and the length of a chunk. The byte after a chunk of an odd length is skipped, which some writers omit. */
const readHead = async (reader: ByteReader, isAfterOdd: boolean): Promise<Uint8Array> => {
  const head = await reader.read(8)
  const isPadded = isAfterOdd && (head[0] === 0 || ['fmt ', 'data'].includes(nameAt(head, 1)))
  return isPadded ? joinBytes(head.subarray(1), await reader.read(1)) : head
}

/** An empty data chunk means a streamed length, unless the header says that other chunks follow or the source ends there. */
const checkStreamedData = async (reader: ByteReader, riffByteCount: number, dataByteCount: number): Promise<void> => {
  const chunksFollow = !isStreamedLength(riffByteCount) && riffByteCount + 8 > reader.positionBytes()
  if (await reader.atEnd()) refuseWav('The WAV file holds no samples.')
  if (dataByteCount === 0 && chunksFollow) {
    refuseWav(`The WAV file says that it holds no samples; if that is wrong, ${remedy}`)
  }
}

/** In the file. */
const frameBytesOf = ({ format: { channels }, stored }: WavFormat): number => channels * wavSampleBytes[stored]

const readHeader = async (reader: ByteReader): Promise<WavHeader> => {
  const riffByteCount = await readRiff(reader)
  let format: WavFormat | undefined
  let wideLength = 0
  let isAfterOdd = false
  for (;;) {
    const head = await readHead(reader, isAfterOdd)
    if (head.length < 8) return refuseWav('The WAV file ends before its data chunk.')
    const name = nameAt(head, 0)
    const byteCount = lengthAt(head, 4)
    if (name === 'data') {
      if (format === undefined) return refuseWav('The WAV file has its samples before their format.')
      if (isStreamedLength(byteCount) && wideLength === 0) {
        await checkStreamedData(reader, riffByteCount, byteCount)
        return { ...format, dataByteCount: undefined }
      }
      const dataByteCount = isStreamedLength(byteCount) ? wideLength : byteCount
      const frameBytes = frameBytesOf(format)
      if (dataByteCount % frameBytes !== 0) {
        refuseWav(
          `The WAV header is wrong: its ${dataByteCount} bytes of data are not whole frames of ${frameBytes} bytes; ${remedy}`,
        )
      }
      return { ...format, dataByteCount }
    }
    if (reader.positionBytes() + byteCount > maxWavHeaderBytes) {
      refuseWav(
        `The "${printable(name)}" chunk of the WAV file claims ${byteCount} bytes; its samples must begin within ${maxWavHeaderBytes} bytes; ${remedy}`,
      )
    }
    isAfterOdd = byteCount % 2 === 1
    if (name === 'ds64') wideLength = await readWideLength(reader, byteCount)
    else if (name !== 'fmt ') await reader.skip(byteCount)
    else if (format === undefined) format = await readFormat(reader, byteCount)
    else refuseWav('The WAV file has two "fmt " chunks.')
  }
}

async function* wholeFrames(reader: ByteReader, header: WavHeader): AsyncGenerator<Uint8Array, undefined> {
  const frameBytes = frameBytesOf(header)
  const total = header.dataByteCount ?? Infinity
  let left = total
  const aligner = new FrameAligner(frameBytes)
  try {
    for (let part = await reader.take(left); part !== undefined; part = await reader.take(left)) {
      left -= part.length
      const frames = aligner.push(part)
      if (frames.length > 0) yield streamedSamples(header.stored, frames)
    }
    if (left > 0 && left < Infinity) {
      refuseWav(`The WAV file ends early: ${left} of the ${total} bytes of its data chunk are missing.`)
    }
    const cut = aligner.rest()
    if (cut.length > 0) refuseWav(`The WAV file ends within a frame: ${cut.length} of ${frameBytes} bytes are there.`)
    return undefined
  } finally {
    await reader.release()
  }
}

/** `return` releases the source itself, because a generator that was not started does not run its `finally`. */
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
 * Reads the header of a RIFF/WAVE source and returns its samples as a stream. The chunks of the source can have any length.
 *
 * - Supports PCM of 8, 16, 24 and 32 bits, floats of 32 and 64 bits, µ-law and A-law with 1 or 2 channels at 8000 to 48000 Hz,
 *   plain or WAVE_FORMAT_EXTENSIBLE, with any chunks before the samples, also in RF64 and BW64. PCM of other than 16 bits and
 *   floats become 16-bit PCM. Chunks after the samples are ignored. A data length of 0, of 0xffffffff or near 2^31 means
 *   "until the source ends", as writers to a pipe set it.
 * - Rejects everything else with `invalid-wav`, which names the problem: not a WAV file, no samples, another encoding, numbers
 *   that disagree, a sample rate out of range, no samples within the first `maxWavHeaderBytes`.
 * - A truncated file emits its whole frames; then the iteration throws `invalid-wav` with the number of missing bytes.
 * - Errors of the source pass through unchanged.
 * - Buffers at most one chunk of the source; the chunks of `audio` are views of it if possible.
 * - Calls `return` of the source when the samples are complete, when the iteration ends early (also before its first step),
 *   and when the header is refused. A caller that does not need the audio must call `return` on its iterator.
 *
 * @example
 * const { format, audio } = await readWav(createReadStream('call.wav'))
 * recognize({ ...options, format })(audio).subscribe(console.log)
 */
export const readWav = async (source: AsyncIterable<Uint8Array>): Promise<WavStream> => {
  if (typeof (source as Partial<typeof source> | null | undefined)?.[Symbol.asyncIterator] !== 'function') {
    throw new SpeechError(
      'invalid-options',
      'readWav reads an async iterable of bytes, such as createReadStream(path).',
    )
  }
  const reader = createByteReader(source)
  try {
    const header = await readHeader(reader)
    const { format, dataByteCount } = header
    const audio = releasing(wholeFrames(reader, header), reader)
    return dataByteCount === undefined
      ? { format, audio }
      : { format, audio, durationMs: (dataByteCount / frameBytesOf(header) / format.sampleRateHz) * 1000 }
  } catch (error) {
    // Report the wrong header and not an error of closing the source.
    await reader.release().catch(() => undefined)
    throw error
  }
}

/** Reads a given number of bytes from a source of chunks of any length. Errors of the source pass through unchanged. */
interface ByteReader {
  /** The number of bytes read so far. */
  readonly positionBytes: () => number
  /** Reads the next `byteCount` bytes; fewer only at the end of the source. */
  readonly read: (byteCount: number) => Promise<Uint8Array>
  /** Skips `byteCount` bytes and returns how many there were. */
  readonly skip: (byteCount: number) => Promise<number>
  /** The next chunk without a copy, not empty and at most `maxBytes` long; undefined at the end of the source. */
  readonly take: (maxBytes: number) => Promise<Uint8Array | undefined>
  /** Whether the source has ended. Can wait for the source; reads nothing. */
  readonly atEnd: () => Promise<boolean>
  /** Calls `return` of the source once, unless it has ended. */
  readonly release: () => Promise<void>
}

const noBytes = new Uint8Array(0)

const createByteReader = (source: AsyncIterable<Uint8Array>): ByteReader => {
  const iterator = source[Symbol.asyncIterator]()
  let pending: Uint8Array = noBytes
  let positionBytes = 0
  let isFinished = false

  const pull = async (): Promise<boolean> => {
    while (pending.length === 0 && !isFinished) {
      const result = await iterator.next().catch((error: unknown) => {
        isFinished = true
        throw error
      })
      if (result.done === true) isFinished = true
      else if (ArrayBuffer.isView(result.value)) pending = result.value
      else
        throw new SpeechError(
          'invalid-wav',
          `The source gives ${typeof result.value} instead of bytes; read it without a text encoding.`,
        )
    }
    return pending.length > 0
  }

  const take = async (maxBytes: number): Promise<Uint8Array | undefined> => {
    if (maxBytes <= 0 || !(await pull())) return undefined
    const taken = pending.subarray(0, maxBytes)
    pending = pending.subarray(taken.length)
    positionBytes += taken.length
    return taken
  }

  const read = async (byteCount: number): Promise<Uint8Array> => {
    const bytes = new Uint8Array(byteCount)
    let length = 0
    for (let part = await take(byteCount); part !== undefined; part = await take(byteCount - length)) {
      bytes.set(part, length)
      length += part.length
    }
    return bytes.subarray(0, length)
  }

  const skip = async (byteCount: number): Promise<number> => {
    let length = 0
    for (let part = await take(byteCount); part !== undefined; part = await take(byteCount - length)) {
      length += part.length
    }
    return length
  }

  const release = async (): Promise<void> => {
    pending = noBytes
    if (isFinished) return
    isFinished = true
    await iterator.return?.()
  }

  return { positionBytes: () => positionBytes, read, skip, take, atEnd: async () => !(await pull()), release }
}
