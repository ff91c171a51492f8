import { SpeechError } from '../errors/speech-error.js'
import { bytesPerFrame, bytesPerSample, bytesPerSecond, validateFormat, type AudioFormat } from './format.js'
import { wavTags } from './wav-format.js'

const streamedLength = 0xffffffff

/** Checks that a length can stand in a header, and gives the RIFF length that goes with it. */
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
 * The bytes that stand before `dataByteCount` bytes of samples in a WAV file: 44 for PCM, 58 for G.711, which needs
 * the longer "fmt " chunk and a "fact" chunk. Leave the count out to write to a pipe whose end is not known.
 * After an odd count one zero byte must follow the samples. Throws `invalid-format`, and `invalid-options` for a
 * count that is not whole frames or over 4 GiB.
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
