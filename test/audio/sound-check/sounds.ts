import { decodeChannels, encodeSamples } from '../../../src/audio/codec.js'
import type { AudioFormat, Encoding } from '../../../src/audio/format.js'
import { SoundCheck } from '../../../src/audio/sound-check/sound-check.js'
import type { SoundWarning } from '../../../src/audio/sound-check/sound-warning.js'
import { createResampler } from '../../../packages/server/src/recognition/resampler.js'
import { readRecording } from '../read-recording.js'

export const formatOf = (encoding: Encoding, sampleRateHz = 8000, channels: 1 | 2 = 1): AudioFormat => ({
  encoding,
  sampleRateHz,
  channels,
})

/** Both speakers of the sample call, at 8000 Hz. */
export const callSpeakers = async (): Promise<readonly Int16Array[]> => {
  const { format, bytes } = await readRecording('samples/call.wav')
  return decodeChannels(new Uint8Array(bytes), format)
}

export const encoded = (samples: Int16Array, encoding: Encoding): Uint8Array =>
  new Uint8Array(encodeSamples(samples, encoding)).slice()

/** Two channels, interleaved and encoded. */
export const stereo = (left: Int16Array, right: Int16Array, encoding: Encoding): Uint8Array => {
  const frames = new Int16Array(left.length * 2)
  for (let i = 0; i < left.length; i++) {
    frames[2 * i] = left[i] ?? 0
    frames[2 * i + 1] = right[i] ?? 0
  }
  return encoded(frames, encoding)
}

export const swapped = (bytes: Uint8Array): Uint8Array => bytes.map((_byte, i) => bytes[i ^ 1] ?? 0)

const clamp = (value: number): number => Math.max(-32_768, Math.min(32_767, Math.round(value)))

export const changed = (samples: Int16Array, change: (sample: number, i: number) => number): Int16Array =>
  samples.map((sample, i) => clamp(change(sample, i)))

export const resampled = async (samples: Int16Array, fromHz: number, toHz: number): Promise<Int16Array> => {
  const resampler = await createResampler({ fromHz, toHz, channels: 1 })
  const out = Int16Array.from([...resampler.process(samples)])
  resampler.free()
  return out
}

/** All warnings about a stream that comes in messages of `messageBytes`, 20 ms by default. */
export const warningsOf = (
  format: AudioFormat,
  bytes: Uint8Array,
  messageBytes = (format.sampleRateHz / 50) * format.channels * (format.encoding === 'pcm' ? 2 : 1),
): readonly SoundWarning[] => {
  const warnings: SoundWarning[] = []
  const check = new SoundCheck(format, (warning) => warnings.push(warning))
  for (let at = 0; at < bytes.length; at += messageBytes) check.push(bytes.subarray(at, at + messageBytes))
  return warnings
}

/** Each warning in short form: `wrong-encoding ulaw`, `clipping 0`. */
export const brief = (warnings: readonly SoundWarning[]): readonly string[] =>
  warnings.map(({ kind, found, channel }) => [kind, found, channel].filter((part) => part !== undefined).join(' '))

export const ascii = (text: string): Uint8Array => Uint8Array.from(text, (letter) => letter.charCodeAt(0))
