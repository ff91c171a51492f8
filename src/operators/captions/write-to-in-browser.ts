import type { MonoTypeOperatorFunction } from 'rxjs'
import { SpeechError } from '../../errors/speech-error.js'
import type { WriteToOptions } from './write-to-options.js'

/** `writeTo` of a browser, which has no files to write: throws `invalid-options`. */
export const writeTo = (_path: string, _options: WriteToOptions = {}): MonoTypeOperatorFunction<string> => {
  throw new SpeechError('invalid-options', 'A page cannot write files; collect the texts, and offer them as a Blob.')
}
