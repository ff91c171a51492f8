import { isSpeechError } from '../../src/errors/speech-error.js'

/** The code of the library's error, and the whole text of any other. */
export const errorCode = (error: unknown): string => (isSpeechError(error) ? error.code : String(error))
