import { identity, map, pipe, type MonoTypeOperatorFunction } from 'rxjs'
import { decodeSamples, encodeSamples } from '../../audio/codec.js'
import { bytesPerSample, encodings, type Encoding } from '../../audio/format.js'
import { checkOptions, oneOf, optionsOf } from '../../protocol/validation.js'
import { wholeFrames } from './whole-frames.js'

/** The encodings of a conversion. */
export interface TranscodeOptions {
  /** The encoding of the source. */
  readonly from: Encoding
  /** The encoding of the output. */
  readonly to: Encoding
}

const encoding = oneOf(...encodings)
const transcodeOptions = optionsOf<TranscodeOptions>()({ from: encoding, to: encoding }, {})

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
export const transcode = (options: TranscodeOptions): MonoTypeOperatorFunction<Uint8Array> => {
  const { from, to } = checkOptions(transcodeOptions, options)
  if (from === to) return identity
  return pipe(
    wholeFrames(bytesPerSample({ encoding: from })),
    map((bytes) => encodeSamples(decodeSamples(bytes, from), to)),
  )
}
