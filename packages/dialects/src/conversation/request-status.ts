import { errorTable } from 'rxspeech/internal/errors/error-table'
import type { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { httpStatus } from 'rxspeech-server/listen/upgrade-request'

/** The HTTP status of a request that ends with an error; undefined if clients do not learn of that error. */
export const requestStatus = (error: SpeechError): number | undefined => {
  const { code } = error
  if (code === 'invalid-wav') return 400
  if (code === 'internal') return 500
  const { traits, retryable } = errorTable[code]
  if (!traits.includes('for-clients')) return undefined
  const status = httpStatus(error)
  return !retryable && status >= 500 ? 400 : status
}
