import type { SpeechError } from '../../errors/speech-error.js'
import { functionValue, oneOf, eitherOf, optionsOf } from '../../protocol/validation.js'

/** What a file that cannot be written does to the stream. */
export interface WriteToOptions {
  /**
   * `'end'`: the stream fails with the error. A function receives it, once until the file can be written again, and the
   * stream continues; texts wait meanwhile. @default a warning of the process, and the stream continues
   */
  readonly onError?: ((error: SpeechError) => void) | 'end' | undefined
}

export const writeToOptions = optionsOf<WriteToOptions>()({}, { onError: eitherOf(functionValue, oneOf('end')) })
