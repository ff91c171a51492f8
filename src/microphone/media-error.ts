import { SpeechError, toSpeechError } from '../errors/speech-error.js'

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : '')

/** The error of `getUserMedia`, whose names are of https://www.w3.org/TR/mediacapture-streams/#dom-mediadevices-getusermedia. */
export const mediaError = (cause: unknown): SpeechError => {
  switch (nameOf(cause)) {
    case 'NotAllowedError':
    case 'SecurityError':
      return new SpeechError(
        'microphone-denied',
        'The page may not use the microphone; allow it in the settings of the browser, and in a frame by allow="microphone".',
        { cause },
      )
    case 'NotFoundError':
      return new SpeechError('microphone-missing', 'No microphone was found; connect one.', { cause })
    case 'OverconstrainedError':
      return new SpeechError(
        'microphone-missing',
        `No microphone has the requested ${constraintOf(cause)}; choose another device.`,
        { cause },
      )
    case 'NotReadableError':
    case 'AbortError':
      return new SpeechError(
        'microphone-busy',
        'The microphone cannot be opened; close other programs that use it, then try again.',
        { cause },
      )
    case 'TypeError':
      return new SpeechError('invalid-options', 'The browser does not accept the constraints; see the cause.', {
        cause,
      })
    default:
      return toSpeechError(cause, 'source-failed', 'The browser did not open the microphone; see the cause.')
  }
}

const constraintOf = (error: unknown): string => {
  const constraint: unknown = typeof error === 'object' && error !== null && 'constraint' in error && error.constraint
  return typeof constraint === 'string' && constraint !== '' ? constraint : 'properties'
}
