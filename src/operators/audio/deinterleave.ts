import { map, pipe, type OperatorFunction } from 'rxjs'
import { deinterleaveChannels } from '../../audio/channels.js'
import { bytesPerFrame, bytesPerSample, validateFormat, type AudioFormat } from '../../audio/format.js'
import { SpeechError } from '../../errors/speech-error.js'
import { anything, checkOptions, optionsOf } from '../../protocol/validation.js'
import { wholeFrames } from './whole-frames.js'

/** The audio that is split. */
export interface DeinterleaveOptions {
  /** The format of the source, with `channels: 2`. */
  readonly format: AudioFormat
}

const deinterleaveOptions = optionsOf<DeinterleaveOptions>()({ format: anything }, {})

/**
 * Splits stereo audio into `[left, right]` with the same number of samples each (PROTOCOL 3.2). The inverse of
 * `interleave`.
 *
 * Emits one pair for each slice that completes a frame; a slice can split a frame anywhere.
 * - Completion: completes; `cut-sample` if a frame is incomplete.
 * - Error: passes it on at once. Unsubscription: discards what is buffered.
 * - Buffering: less than one frame.
 *
 * Throws `invalid-options`, or `invalid-format` for a format that is not stereo, when it is called.
 *
 * @example
 * ```ts
 * stereo$.pipe(deinterleave({ format }), map(([left]) => left))
 * ```
 */
export const deinterleave = (
  options: DeinterleaveOptions,
): OperatorFunction<Uint8Array, readonly [Uint8Array, Uint8Array]> => {
  const { format } = checkOptions(deinterleaveOptions, options)
  if (validateFormat(format).channels !== 2) {
    throw new SpeechError('invalid-format', 'channels must be 2: mono audio cannot be split.')
  }
  const sampleBytes = bytesPerSample(format)
  return pipe(
    wholeFrames(bytesPerFrame(format)),
    map((frames) => deinterleaveChannels(frames, sampleBytes)),
  )
}
