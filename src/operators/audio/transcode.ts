import { identity, map, pipe, type MonoTypeOperatorFunction } from 'rxjs'
import { decodeSamples, encodeSamples } from '../../audio/codec.js'
import { bytesPerSample, encodings, type Encoding } from '../../audio/format.js'
import { SpeechError } from '../../errors/speech-error.js'
import { wholeFrames } from './whole-frames.js'

export interface TranscodeOptions {
  /** The encoding of the source. */
  readonly from: Encoding
  /** The encoding of the output. */
  readonly to: Encoding
}

/**
 * Converts audio between PCM, µ-law and A-law (ITU-T G.711), sample by sample, for any number of channels.
 *
 * Emits one slice for each slice of the source, which can split a sample. Equal encodings return the source unchanged.
 * - Completion: completes; `cut-sample` if a sample is incomplete.
 * - Error: passes it on at once. Unsubscription: discards what is buffered.
 * - Buffering: less than one sample.
 *
 * Throws `invalid-options` when it is called with an unknown encoding.
 *
 * @example
 * ```ts
 * telephone$.pipe(transcode({ from: 'ulaw', to: 'pcm' }))
 * ```
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
