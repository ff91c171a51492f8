import type { AudioFormat, Encoding } from '../format.js'

/** What can be wrong with the audio itself. */
export type SoundFault =
  | 'file-header'
  | 'wrong-encoding'
  | 'swapped-bytes'
  | 'wrong-rate'
  | 'dead-channel'
  | 'equal-channels'
  | 'clipping'
  | 'dc-offset'
  | 'mains-hum'

/** A fault of the audio, and what to do about it. */
export interface SoundWarning {
  /** What is wrong. */
  readonly kind: SoundFault
  /**
   * What was found instead: the format of the file (`WAV`, `WebM`, `text`, …), the encoding that fits (`pcm`, `ulaw`,
   * `alaw`), whether the true rate is `lower` or `higher`, or the frequency of the hum (`50 Hz`, `60 Hz`).
   */
  readonly found?: string
  /** The channel, 0 or 1; absent if the fault is of the whole stream. */
  readonly channel?: number
  /** The fault that was reported is over. Only `dead-channel` ends: its channel has a signal now. */
  readonly isOver?: true
  /** The position in the audio at which the fault was certain, in milliseconds since its first sample. */
  readonly atMs: number
  /** What is wrong and what to do, in one sentence. */
  readonly message: string
}

/** A fault that was found, before it is reported. */
export type FoundFault = Pick<SoundWarning, 'kind' | 'found' | 'channel' | 'isOver'>

const encodingNames: Readonly<Record<string, string>> = { pcm: '16-bit PCM', ulaw: 'µ-law', alaw: 'A-law' }
const nameOf = (encoding: Encoding): string => encodingNames[encoding] ?? encoding

/** The sentence of a warning. */
export const messageOf = ({ kind, found = '', channel = 0, isOver }: FoundFault, format: AudioFormat): string => {
  switch (kind) {
    case 'file-header':
      return headerMessage(found)
    case 'wrong-encoding':
      return `The audio is not ${nameOf(format.encoding)} but ${encodingNames[found] ?? found}; set the encoding to ${found}.`
    case 'swapped-bytes':
      return 'The two bytes of each sample are swapped, or a byte is missing; send whole samples, the low byte first.'
    case 'wrong-rate':
      return `The speech is ${found === 'lower' ? 'too fast and too high' : 'too slow and too deep'}: the audio was probably recorded at a rate ${found} than ${format.sampleRateHz} Hz; set that rate.`
    case 'dead-channel':
      return isOver
        ? `Channel ${channel} has a signal now; the warning about it no longer holds.`
        : `Channel ${channel} has had no signal so far; if somebody speaks there, check its source.`
    case 'equal-channels':
      return 'Both channels have the same audio, so each word is recognized twice; send one channel.'
    case 'clipping':
      return 'The audio is clipped: its loud parts are cut off; lower the gain before it is digitized.'
    case 'dc-offset':
      return 'The samples have a constant offset; check the sound card and the format of the samples, or send the audio through a high-pass filter.'
    case 'mains-hum':
      return `The audio has mains hum of ${found}; check cables and grounding, or send the audio through a high-pass filter.`
  }
}

const headerMessage = (found: string): string => {
  if (found === 'text') return 'The stream is text, such as JSON or base64; send the bytes of the samples.'
  if (uncompressed.has(found)) return `The stream contains the header of a file (${found}); send only its samples.`
  return `The stream is a file (${found}) and not samples; decode it and send the samples.`
}

/** Formats of files that contain samples as they are. */
export const uncompressed: ReadonlySet<string> = new Set(['WAV', 'AIFF', 'AU', 'Wave64', 'SPHERE'])
