import { errorTable } from 'rxspeech/internal/errors/error-table'
import { isSpeechError } from 'rxspeech/internal/errors/speech-error'
import { spreadRetryAfter } from 'rxspeech/internal/protocol/retry-after'
import { UploadError } from '../conversation/upload-error.js'
import { httpStatus, type HttpRefusal } from 'rxspeech-server/listen/upgrade-request'

/** An error of a request, in the terms of the OpenAI interface. */
export class OpenAiError extends Error {
  readonly status: number
  /** The field that is wrong. */
  readonly param: string | null
  readonly code: string

  constructor(status: number, message: string, code: string, param: string | null = null) {
    super(message)
    this.status = status
    this.code = code
    this.param = param
  }
}

/** A field that is wrong. */
export const invalidField = (param: string, sentence: string, code = 'invalid_value'): OpenAiError =>
  new OpenAiError(400, sentence, code, param)

/** There is no such model, or the token does not grant it. */
export const modelNotFound = (name: string): OpenAiError =>
  new OpenAiError(
    404,
    `The model ${JSON.stringify(name.slice(0, 100))} is not known here, or not granted to this token; GET /v1/models lists the models.`,
    'model_not_found',
    'model',
  )

/** The answer to a request that is refused (`error.message`, `type`, `param` and `code`). Undefined for a fault of the service. */
export const refuseAsOpenAi = (error: unknown): HttpRefusal | undefined => {
  if (error instanceof OpenAiError) return refusal(error)
  if (error instanceof UploadError) return refusal(new OpenAiError(error.status, error.message, error.code, 'file'))
  if (!isSpeechError(error)) return undefined
  const { code, message, retryAfterMs } = error
  if (code === 'invalid-wav') return refusal(invalidField('file', message, 'invalid_audio'))
  const row = errorTable[code]
  if (!row.traits.includes('for-clients')) return code === 'internal' ? refusal(internal(message)) : undefined
  const isOfRequest = !row.retryable && httpStatus(error) >= 500
  const status = isOfRequest ? 400 : httpStatus(error)
  return refusal(new OpenAiError(status, message, code.replaceAll('-', '_')), row.retryable, retryAfterMs)
}

const internal = (message: string): OpenAiError => new OpenAiError(500, message, 'internal')

const refusal = (
  { status, message, code, param }: OpenAiError,
  isRetryable = false,
  retryAfterMs?: number,
): HttpRefusal => ({
  status,
  headers: {
    'Content-Type': 'application/json',
    'x-should-retry': String(isRetryable),
    ...(isRetryable && { 'Retry-After': spreadRetryAfter(retryAfterMs) }),
    ...(status === 401 && { 'WWW-Authenticate': 'Bearer' }),
  },
  body: JSON.stringify({ error: { message, type: typeOf(status), param, code } }),
})

const types: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  429: 'rate_limit_error',
}

const typeOf = (status: number): string => types[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error')
