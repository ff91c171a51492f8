import { SpeechError } from '../errors/speech-error.js'

/** The encoding of a sample: 16-bit signed little-endian PCM, or ITU-T G.711 µ-law or A-law. */
export type Encoding = 'pcm' | 'ulaw' | 'alaw'

/** The format of an audio stream. Two channels are interleaved sample by sample, left first (PROTOCOL 3.2). */
export interface AudioFormat {
  /** The encoding of each sample. */
  readonly encoding: Encoding
  /** Samples per second of each channel, in Hz; 8000 to 48000. */
  readonly sampleRateHz: number
  /** 1 for mono, 2 for stereo. */
  readonly channels: 1 | 2
}

export const encodings: readonly Encoding[] = ['pcm', 'ulaw', 'alaw']
export const minSampleRateHz = 8000
export const maxSampleRateHz = 48000

/** A short description of a wrong value, for a message. Never throws. */
const described = (value: unknown): string =>
  typeof value === 'object' && value !== null ? `an ${Array.isArray(value) ? 'array' : 'object'}` : printed(value)

const printed = (value: unknown): string => {
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value)
  return text.length > 40 ? `${text.slice(0, 40)}…` : text
}

/**
 * Returns the format if it is valid; otherwise throws `invalid-format` with the name of the wrong field. Takes
 * `unknown` because callers in JavaScript, notebooks and the command line have no types.
 *
 * @example
 * const checked = validateFormat(JSON.parse('{ "encoding": "pcm", "sampleRateHz": 16000, "channels": 1 }'))
 */
export const validateFormat = (format: unknown): AudioFormat => {
  const { encoding, sampleRateHz, channels, ...others } = (format ?? {}) as Record<keyof AudioFormat, unknown>
  const refuse = (field: string, expected: string, got: unknown): never => {
    throw new SpeechError('invalid-format', `${field} must be ${expected}, not ${described(got)}.`)
  }
  if (!encodings.includes(encoding as Encoding)) refuse('encoding', '"pcm", "ulaw" or "alaw"', encoding)
  if (
    !Number.isInteger(sampleRateHz) ||
    Number(sampleRateHz) < minSampleRateHz ||
    Number(sampleRateHz) > maxSampleRateHz
  ) {
    refuse('sampleRateHz', `a whole number from ${minSampleRateHz} to ${maxSampleRateHz} Hz`, sampleRateHz)
  }
  if (channels !== 1 && channels !== 2) refuse('channels', '1 or 2', channels)
  for (const field in others) throw new SpeechError('invalid-format', `format has the unknown field ${printed(field)}.`)
  return format as AudioFormat
}

/**
 * Bytes of one sample of one channel: 2 for PCM, 1 for G.711.
 *
 * @example
 * bytesPerSample({ encoding: 'ulaw' }) // 1
 */
export const bytesPerSample = ({ encoding }: Pick<AudioFormat, 'encoding'>): 1 | 2 => (encoding === 'pcm' ? 2 : 1)

/**
 * Bytes of one frame, which is one sample of every channel. A message must contain whole frames (PROTOCOL 3.2).
 *
 * @example
 * bytesPerFrame({ encoding: 'pcm', channels: 2 }) // 4
 */
export const bytesPerFrame = (format: Pick<AudioFormat, 'encoding' | 'channels'>): number =>
  bytesPerSample(format) * format.channels

/**
 * Bytes of one second of all channels.
 *
 * @example
 * bytesPerSecond({ encoding: 'pcm', sampleRateHz: 8000, channels: 2 }) // 32000
 */
export const bytesPerSecond = (format: AudioFormat): number => bytesPerFrame(format) * format.sampleRateHz

/** Less than the distance of two samples, and more than the rounding error of doubles over days of audio. */
const roundingFrames = 1e-5

/**
 * The bytes of `durationMs` milliseconds, rounded down to whole frames.
 * `bytesForMs(format, msForBytes(format, n))` is `n` for every `n` that is whole frames.
 *
 * @example
 * const silence = new Uint8Array(bytesForMs({ encoding: 'pcm', sampleRateHz: 16_000, channels: 1 }, 20)) // 640 bytes
 */
export const bytesForMs = (format: AudioFormat, durationMs: number): number =>
  Math.floor((format.sampleRateHz * durationMs) / 1000 + roundingFrames) * bytesPerFrame(format)

/**
 * The duration of `byteCount` bytes in milliseconds, which can be a fraction.
 *
 * @example
 * audio$.subscribe((bytes) => console.log(msForBytes(format, bytes.byteLength), 'ms'))
 */
export const msForBytes = (format: AudioFormat, byteCount: number): number =>
  (byteCount * 1000) / bytesPerSecond(format)

/** Concatenates two byte arrays into a new one. */
export const joinBytes = (first: Uint8Array, second: Uint8Array): Uint8Array => {
  const bytes = new Uint8Array(first.byteLength + second.byteLength)
  bytes.set(first)
  bytes.set(second, first.byteLength)
  return bytes
}
