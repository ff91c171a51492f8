import { SpeechError } from '../errors/speech-error.js'
import {
  bytesPerFrame,
  bytesPerSample,
  bytesPerSecond,
  maxSampleRateHz,
  minSampleRateHz,
  validateFormat,
  type AudioFormat,
  type Encoding,
} from './format.js'
import { wavSampleBytes, type WavSamples } from './wav-samples.js'

/** The format tags (RFC 2361) of the supported encodings. */
const wavTags = { pcm: 1, alaw: 6, ulaw: 7 } as const satisfies Record<Encoding, number>

const extensibleTag = 0xfffe
const floatTag = 3
/** The supported kinds of samples by format tag and bits. */
const samplesByTag = new Map<number, ReadonlyMap<number, WavSamples>>([
  [
    wavTags.pcm,
    new Map<number, WavSamples>([
      [16, 'pcm'],
      [8, 'pcm8'],
      [24, 'pcm24'],
      [32, 'pcm32'],
    ]),
  ],
  [wavTags.alaw, new Map([[8, 'alaw' as const]])],
  [wavTags.ulaw, new Map([[8, 'ulaw' as const]])],
  [
    floatTag,
    new Map<number, WavSamples>([
      [32, 'float32'],
      [64, 'float64'],
    ]),
  ],
])
const otherTags = new Map([
  [2, 'Microsoft ADPCM'],
  [0x11, 'IMA ADPCM'],
  [0x31, 'GSM 6.10'],
  [0x55, 'MP3'],
])
/** A sub-format is a format tag followed by these fourteen bytes of the base GUID. */
const subFormatTail = [0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71]

/** The bytes of a "fmt " chunk that are read; the rest of a longer chunk is skipped. */
export const maxFormatBytes = 40
const minFormatBytes = 16

export const refuseWav = (message: string): never => {
  throw new SpeechError('invalid-wav', message)
}

/** What makes a file that can be read of nearly any other. The command puts the name of its file in place of FILE. */
export const remedy = 'ffmpeg -i FILE -ar 16000 -c:a pcm_s16le converted.wav converts it.'
/** For a file that was copied or written in part, which no conversion completes. */
export const copyRemedy = 'copy or record it again.'
/** Converters follow the length in the header, too, unless it is ignored. */
export const lengthRemedy = remedy.replace('-i', '-ignore_length 1 -i')
const mixingRemedy = remedy
  .replace('-ar', '-ac 1 -ar')
  .replace('converts it.', "mixes them, or with -af 'pan=stereo|c0=c0|c1=c1' in place of -ac 1 takes the first two.")

/** The beginnings of other kinds of files with audio, and where these are. */
const otherFiles: readonly (readonly [name: string, at: number, ...begins: readonly string[]])[] = [
  ['MP3', 0, 'ID3', '\xff\xfb', '\xff\xfa', '\xff\xf3', '\xff\xf2', '\xff\xe3'],
  ['AAC', 0, '\xff\xf1', '\xff\xf9'],
  ['MPEG-4 (m4a, mp4)', 4, 'ftyp'],
  ['WebM or Matroska', 0, '\x1a\x45\xdf\xa3'],
  ['Ogg', 0, 'OggS'],
  ['FLAC', 0, 'fLaC'],
  ['AIFF', 0, 'FORM'],
  ['AMR', 0, '#!AMR'],
  ['AU', 0, '.snd'],
  ['CAF', 0, 'caff'],
  ['Windows Media', 0, '\x30\x26\xb2\x75'],
  ['Wave64', 0, 'riff'],
]

/** ffmpeg takes the samples of RIFX for little-endian ones, which makes them noise. */
const rifxRemedy = 'sox FILE -r 16000 -e signed-integer -b 16 converted.wav converts it.'

/** The beginnings of files that may contain a recording, but that no converter of audio reads. */
const packedFiles: readonly (readonly [name: string, begin: string])[] = [
  ['gzip', '\x1f\x8b'],
  ['ZIP', 'PK\x03\x04'],
  ['bzip2', 'BZh'],
  ['xz', '\xfd7zXZ'],
  ['Zstandard', '\x28\xb5\x2f\xfd'],
  ['7-Zip', '7z\xbc\xaf'],
]

/** Refuses what is not a WAV file, by its name if that is known. */
export const refuseOtherFile = (begin: Uint8Array): never => {
  const text = String.fromCharCode(...begin)
  if (begin.length < 12 && text.startsWith('RIFF'))
    return refuseWav(`The WAV file ends within its header; ${copyRemedy}`)
  if (text.startsWith('RIFX')) return refuseWav(`This is RIFX, not a RIFF/WAVE file; ${rifxRemedy}`)
  const [packed] = packedFiles.find(([, begins]) => text.startsWith(begins)) ?? []
  if (packed !== undefined)
    return refuseWav(`The file is packed by ${packed}; unpack it, and pass the recording in it.`)
  const [name] = otherFiles.find(([, at, ...begins]) => begins.some((one) => text.startsWith(one, at))) ?? []
  return refuseWav(
    name === undefined
      ? `This is not a RIFF/WAVE file; if it is audio, ${remedy}`
      : `This is ${name}, not a RIFF/WAVE file; ${remedy}`,
  )
}

/** The format tag; for WAVE_FORMAT_EXTENSIBLE the tag of its sub-format. */
const tagOf = (chunk: DataView): number => {
  const tag = chunk.getUint16(0, true)
  if (tag !== extensibleTag) return tag
  if (chunk.byteLength < maxFormatBytes)
    refuseWav(`The WAV header is of the extensible kind but too short for it; ${remedy}`)
  if (subFormatTail.some((byte, i) => chunk.getUint8(26 + i) !== byte)) {
    refuseWav(`The WAV file has a sub-format that is not a format tag; ${remedy}`)
  }
  if (chunk.getUint16(18, true) > chunk.getUint16(14, true)) {
    refuseWav(`The WAV header is wrong: it says more valid bits than bits per sample; ${remedy}`)
  }
  return chunk.getUint16(24, true)
}

const samplesOf = (tag: number, bits: number): WavSamples => {
  const byBits =
    samplesByTag.get(tag) ??
    refuseWav(`The WAV file holds ${otherTags.get(tag) ?? 'unknown'} samples (format tag ${tag}); ${remedy}`)
  const supported = [...byBits.keys()].toSorted((a, b) => a - b).join(', ')
  return (
    byBits.get(bits) ??
    refuseWav(`The WAV file says ${bits} bits per sample; format tag ${tag} is read with ${supported}; ${remedy}`)
  )
}

/** The format of a WAV file. */
export interface WavFormat {
  /** As its samples are streamed. */
  readonly format: AudioFormat
  readonly stored: WavSamples
}

/**
 * Reads a "fmt " chunk. Checks that its numbers agree, because a wrong header turns the audio into noise at full
 * volume. Throws `invalid-wav`, which names the wrong number.
 */
export const parseWavFormat = (bytes: Uint8Array): WavFormat => {
  if (bytes.length < minFormatBytes) {
    refuseWav(
      `The "fmt " chunk of the WAV file has ${bytes.length} bytes; it needs at least ${minFormatBytes}; ${remedy}`,
    )
  }
  const chunk = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const tag = tagOf(chunk)
  const channels = chunk.getUint16(2, true)
  const sampleRateHz = chunk.getUint32(4, true)
  if (channels !== 1 && channels !== 2)
    return refuseWav(`The WAV file has ${channels} channels; only 1 or 2 can be streamed; ${mixingRemedy}`)
  if (sampleRateHz < minSampleRateHz || sampleRateHz > maxSampleRateHz) {
    refuseWav(
      `The WAV file says ${sampleRateHz} Hz; only ${minSampleRateHz} to ${maxSampleRateHz} Hz can be streamed; ${remedy}`,
    )
  }
  const stored = samplesOf(tag, chunk.getUint16(14, true))
  const sampleBytes = wavSampleBytes[stored]
  const expectNumber = (name: string, actual: number, expected: number): void => {
    if (actual !== expected) {
      refuseWav(`The WAV header is wrong: its ${name} is ${actual} and should be ${expected}; ${remedy}`)
    }
  }
  expectNumber('block align', chunk.getUint16(12, true), sampleBytes * channels)
  expectNumber('byte rate', chunk.getUint32(8, true), sampleBytes * channels * sampleRateHz)
  const encoding = stored === 'alaw' || stored === 'ulaw' ? stored : 'pcm'
  return { format: { encoding, sampleRateHz, channels }, stored }
}

const streamedLength = 0xffffffff

/** Checks a data length and returns the RIFF length. */
const riffByteCount = (format: AudioFormat, headerBytes: number, dataByteCount: number): number => {
  const byteCount = headerBytes - 8 + dataByteCount + (dataByteCount % 2)
  if (dataByteCount < 0 || dataByteCount % bytesPerFrame(format) !== 0) {
    throw new SpeechError(
      'invalid-options',
      `dataByteCount must be whole frames of ${bytesPerFrame(format)} bytes, not ${dataByteCount}.`,
    )
  }
  if (byteCount >= streamedLength) {
    throw new SpeechError('invalid-options', `A WAV file cannot hold ${dataByteCount} bytes; write several.`)
  }
  return byteCount
}

/**
 * The header of a WAV file with `dataByteCount` bytes of samples: 44 bytes for PCM, 58 for G.711, which needs a longer
 * "fmt " chunk and a "fact" chunk. Without a count the header is for a stream of unknown length. After an odd count one
 * zero byte must follow the samples.
 *
 * @throws SpeechError `invalid-format`, or `invalid-options` for a count that is not whole frames or over 4 GiB
 * @example
 * const samples = new Uint8Array(bytesForMs(format, 1_000))
 * writeFileSync('silence.wav', Buffer.concat([wavHeader(format, samples.length), samples]))
 */
export const wavHeader = (format: AudioFormat, dataByteCount?: number): Uint8Array => {
  const { encoding, channels, sampleRateHz } = validateFormat(format)
  const formatBytes = encoding === 'pcm' ? 16 : 18
  const header = new Uint8Array(encoding === 'pcm' ? 44 : 58)
  const view = new DataView(header.buffer)
  const riffBytes = dataByteCount === undefined ? streamedLength : riffByteCount(format, header.length, dataByteCount)
  let at = 0
  const name = (text: string): void => {
    for (const letter of text) header[at++] = letter.charCodeAt(0)
  }
  const uint16 = (value: number): void => {
    view.setUint16(at, value, true)
    at += 2
  }
  const uint32 = (value: number): void => {
    view.setUint32(at, value, true)
    at += 4
  }
  name('RIFF')
  uint32(riffBytes)
  name('WAVEfmt ')
  uint32(formatBytes)
  uint16(wavTags[encoding])
  uint16(channels)
  uint32(sampleRateHz)
  uint32(bytesPerSecond(format))
  uint16(bytesPerFrame(format))
  uint16(bytesPerSample(format) * 8)
  if (encoding !== 'pcm') {
    uint16(0)
    name('fact')
    uint32(4)
    uint32(dataByteCount === undefined ? streamedLength : dataByteCount / bytesPerFrame(format))
  }
  name('data')
  uint32(dataByteCount ?? streamedLength)
  return header
}
