import { errorTable } from 'rxspeech/internal/errors/error-table'
import { isSpeechError, type SpeechError } from 'rxspeech/internal/errors/speech-error'
import { spreadRetryAfter } from 'rxspeech/internal/protocol/retry-after'
import { requestStatus } from '../conversation/request-status.js'
import { UploadError } from '../conversation/upload-error.js'
import type { HttpRefusal } from 'rxspeech-server/listen/upgrade-request'

/** An error of a request, in the terms of the Deepgram interface. */
export class DeepgramError extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

/** An option of the query that is wrong. */
export const invalidOption = (sentence: string): DeepgramError =>
  new DeepgramError(400, 'INVALID_QUERY_PARAMETER', sentence)

/** There is no such model, or the token does not grant it. */
export const modelNotFound = (name: string): DeepgramError =>
  invalidOption(
    name === ''
      ? 'Name a model of the service by model.'
      : `The model ${JSON.stringify(name.slice(0, 100))} is not known here, or not granted to this token.`,
  )

/** The answer to a request that is refused (`err_code`, `err_msg`). Undefined for a fault of the service. */
export const refuseAsDeepgram = (error: unknown, requestId: string): HttpRefusal | undefined => {
  if (error instanceof DeepgramError) return refusal(error, requestId)
  if (error instanceof UploadError) {
    const { status, code, message, isRetryable } = error
    const retryAfter = isRetryable ? spreadRetryAfter(undefined) : undefined
    return refusal(new DeepgramError(status, code.toUpperCase(), message), requestId, retryAfter)
  }
  if (!isSpeechError(error)) return undefined
  const { code, retryAfterMs } = error
  const status = requestStatus(error)
  if (status === undefined) return undefined
  const errorCode = errorCodes[code] ?? code.toUpperCase().replaceAll('-', '_')
  const isRetryable = code !== 'internal' && errorTable[code].retryable
  return refusal(
    new DeepgramError(status, errorCode, sentenceOf(error)),
    requestId,
    isRetryable ? spreadRetryAfter(retryAfterMs) : undefined,
  )
}

/** What is wrong, with the options of the query for parameters that a model refuses. */
export const sentenceOf = ({ code, message }: SpeechError): string =>
  code === 'invalid-field'
    ? message.replace(/^phrases\b/, 'keyterm').replace(/^language "auto"/, 'language "multi"')
    : message

/** Those that clients know. */
const errorCodes: Readonly<Record<string, string>> = {
  unauthenticated: 'INVALID_AUTH',
  overloaded: 'TOO_MANY_REQUESTS',
  'invalid-wav': 'INVALID_AUDIO',
  'invalid-field': 'INVALID_QUERY_PARAMETER',
}

const refusal = ({ status, code, message }: DeepgramError, requestId: string, retryAfter?: string): HttpRefusal => ({
  status,
  headers: {
    'Content-Type': 'application/json',
    // A client of a socket sees headers only.
    'dg-error': message.replace(/[^\x20-\x7e]/g, '?'),
    ...(retryAfter !== undefined && { 'Retry-After': retryAfter }),
    ...(status === 401 && { 'WWW-Authenticate': 'Token' }),
  },
  body: JSON.stringify({ err_code: code, err_msg: message, request_id: requestId }),
})
