import { map, pipe, type OperatorFunction } from 'rxjs'
import { deinterleaveChannels } from '../audio/channels.js'
import { bytesPerFrame, bytesPerSample, validateFormat, type AudioFormat } from '../audio/format.js'
import { SpeechError } from '../errors/speech-error.js'
import { wholeFrames } from './whole-frames.js'

export interface DeinterleaveOptions {
  /** The format of the source; `channels` is 2. */
  readonly format: AudioFormat
}

/**
 * Parts stereo audio into `[left, right]`, equally many samples each (service.md 4.1 rule 6). The inverse of `interleave`.
 *
 * One pair for each slice of the source that completes a frame; a slice may cut a frame anywhere.
 * - Completion: complete; where a frame was cut, error `cut-sample`.
 * - Error: at once. Unsubscribe: what is carried is gone.
 * - Buffered: less than one frame.
 *
 * Throws `invalid-format` when it is called with a format that is not stereo.
 */
export const deinterleave = ({
  format,
}: DeinterleaveOptions): OperatorFunction<Uint8Array, readonly [Uint8Array, Uint8Array]> => {
  if (validateFormat(format).channels !== 2) {
    throw new SpeechError('invalid-format', 'channels must be 2: mono audio has nothing to part.')
  }
  const sampleBytes = bytesPerSample(format)
  return pipe(
    wholeFrames(bytesPerFrame(format)),
    map((frames) => deinterleaveChannels(frames, sampleBytes)),
  )
}
