import { SpeechError } from '../errors/speech-error.js'
import { bytesPerSample, maxSampleRateHz, minSampleRateHz, type AudioFormat, type Encoding } from './format.js'

/** Format tags of the WAVE specification (RFC 2361) that can be streamed. */
export const wavTags = { pcm: 1, alaw: 6, ulaw: 7 } as const satisfies Record<Encoding, number>

const extensibleTag = 0xfffe
const encodingOfTag = new Map<number, Encoding>([
  [wavTags.pcm, 'pcm'],
  [wavTags.alaw, 'alaw'],
  [wavTags.ulaw, 'ulaw'],
])
const otherTags = new Map([
  [2, 'Microsoft ADPCM'],
  [3, 'floating point'],
  [0x11, 'IMA ADPCM'],
  [0x31, 'GSM 6.10'],
  [0x55, 'MP3'],
])
/** A sub-format is a format tag followed by these fourteen bytes of the base GUID. */
const subFormatTail = [0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71]

/** Bytes of a "fmt " chunk that have a meaning; longer chunks are passed over. */
export const longestFormatBytes = 40
const shortestFormatBytes = 16

export const refuseWav = (message: string): never => {
  throw new SpeechError('invalid-wav', message)
}

/** The format tag, out of the sub-format where the header is WAVE_FORMAT_EXTENSIBLE. */
const tagOf = (chunk: DataView): number => {
  const tag = chunk.getUint16(0, true)
  if (tag !== extensibleTag) return tag
  if (chunk.byteLength < longestFormatBytes) refuseWav('The WAV header is of the extensible kind but too short for it.')
  if (subFormatTail.some((byte, i) => chunk.getUint8(26 + i) !== byte)) {
    refuseWav('The WAV file has a sub-format that is no format tag; convert it to 16-bit PCM.')
  }
  if (chunk.getUint16(18, true) > chunk.getUint16(14, true)) {
    refuseWav('The WAV header is wrong: it says more valid bits than bits per sample.')
  }
  return chunk.getUint16(24, true)
}

const encodingOf = (tag: number): Encoding =>
  encodingOfTag.get(tag) ??
  refuseWav(
    `The WAV file holds ${otherTags.get(tag) ?? 'unknown'} samples (format tag ${tag}); convert it to 16-bit PCM, µ-law or A-law.`,
  )

/**
 * Reads a "fmt " chunk. Every number in it is checked against the others, since a header that is wrong in one place is
 * noise played at full volume in the next. Throws `invalid-wav` naming the number that is wrong, the sample rate included.
 */
export const parseWavFormat = (bytes: Uint8Array): AudioFormat => {
  if (bytes.length < shortestFormatBytes) {
    refuseWav(`The "fmt " chunk of the WAV file has ${bytes.length} bytes; it needs at least ${shortestFormatBytes}.`)
  }
  const chunk = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const encoding = encodingOf(tagOf(chunk))
  const channels = chunk.getUint16(2, true)
  const sampleRateHz = chunk.getUint32(4, true)
  if (channels !== 1 && channels !== 2)
    return refuseWav(`The WAV file has ${channels} channels; only 1 or 2 can be streamed.`)
  if (sampleRateHz < minSampleRateHz || sampleRateHz > maxSampleRateHz) {
    refuseWav(`The WAV file says ${sampleRateHz} Hz; only ${minSampleRateHz} to ${maxSampleRateHz} Hz can be streamed.`)
  }
  const sampleBytes = bytesPerSample({ encoding })
  const bits = chunk.getUint16(14, true)
  if (bits !== sampleBytes * 8) {
    refuseWav(
      `The WAV file says ${bits} bits per sample; ${encoding} needs ${sampleBytes * 8}. Convert it to 16-bit PCM.`,
    )
  }
  const expectNumber = (what: string, said: number, expected: number): void => {
    if (said !== expected) refuseWav(`The WAV header is wrong: its ${what} is ${said} and should be ${expected}.`)
  }
  expectNumber('block align', chunk.getUint16(12, true), sampleBytes * channels)
  expectNumber('byte rate', chunk.getUint32(8, true), sampleBytes * channels * sampleRateHz)
  return { encoding, sampleRateHz, channels }
}
