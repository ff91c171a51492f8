import { identity, map, pipe, type MonoTypeOperatorFunction } from 'rxjs'
import { decodeSamples, encodeSamples } from '../audio/codec.js'
import { bytesPerSample, encodings, type Encoding } from '../audio/format.js'
import { SpeechError } from '../errors/speech-error.js'
import { wholeFrames } from './whole-frames.js'

export interface TranscodeOptions {
  /** The encoding of the source. */
  readonly from: Encoding
  /** The encoding that comes out. */
  readonly to: Encoding
}

/**
 * Codes audio anew: PCM, µ-law and A-law (ITU-T G.711) into each other, sample by sample, so channels stay as they are.
 *
 * One slice out for each slice in, whose borders may cut a sample. The same encoding twice hands the source on untouched.
 * - Completion: complete; where a sample was cut, error `cut-sample`.
 * - Error: at once. Unsubscribe: what is carried is gone.
 * - Buffered: less than one sample.
 *
 * Throws `invalid-options` when it is called with an encoding that does not exist.
 */
export const transcode = ({ from, to }: TranscodeOptions): MonoTypeOperatorFunction<Uint8Array> => {
  assertEncoding('from', from)
  assertEncoding('to', to)
  if (from === to) return identity
  return pipe(
    wholeFrames(bytesPerSample({ encoding: from })),
    map((bytes) => encodeSamples(decodeSamples(bytes, from), to)),
  )
}

const assertEncoding = (option: keyof TranscodeOptions, encoding: unknown): void => {
  if (encodings.includes(encoding as Encoding)) return
  throw new SpeechError(
    'invalid-options',
    `${option} must be "pcm", "ulaw" or "alaw", not ${JSON.stringify(encoding)}.`,
  )
}
