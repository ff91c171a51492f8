import { isSpeechError } from '../../src/errors/speech-error.js'

/** The code of a SpeechError, or the complete text of any other error. */
export const errorCode = (error: unknown): string => (isSpeechError(error) ? error.code : String(error))
