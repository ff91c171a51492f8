import { deinterleaveChannels } from './channels.js'
import { bytesPerSample, type AudioFormat, type Encoding } from './format.js'
import { decodeALaw, decodeMuLaw, encodeALaw, encodeMuLaw } from './g711.js'
import { bytesOf, samplesOf } from './pcm.js'

/**
 * Decodes to 16-bit samples; channels stay interleaved. PCM shares the memory of `bytes` if possible. Throws
 * `cut-sample` if PCM bytes are not whole samples.
 *
 * @example
 * const loudest = Math.max(...decodeSamples(Uint8Array.of(0xff, 0x80), 'ulaw')) // 32124
 */
export const decodeSamples = (bytes: Uint8Array, encoding: Encoding): Int16Array => {
  switch (encoding) {
    case 'pcm':
      return samplesOf(bytes)
    case 'ulaw':
      return decodeMuLaw(bytes)
    case 'alaw':
      return decodeALaw(bytes)
  }
}

/**
 * Encodes 16-bit samples; channels stay interleaved. PCM shares the memory of `samples` if possible.
 *
 * @example
 * const bytes = encodeSamples(Int16Array.of(0, 1000, -1000), 'alaw')
 */
export const encodeSamples = (samples: Int16Array, encoding: Encoding): Uint8Array => {
  switch (encoding) {
    case 'pcm':
      return bytesOf(samples)
    case 'ulaw':
      return encodeMuLaw(samples)
    case 'alaw':
      return encodeALaw(samples)
  }
}

/** The 16-bit samples of each channel that whole frames code. Throws `cut-sample` for incomplete frames. */
export const decodeChannels = (bytes: Uint8Array, format: AudioFormat): readonly Int16Array[] =>
  format.channels === 1
    ? [decodeSamples(bytes, format.encoding)]
    : deinterleaveChannels(bytes, bytesPerSample(format)).map((channel) => decodeSamples(channel, format.encoding))
