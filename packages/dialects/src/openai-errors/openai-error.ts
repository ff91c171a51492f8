import { errorTable } from 'rxspeech/internal/errors/error-table'
import { isSpeechError } from 'rxspeech/internal/errors/speech-error'
import { spreadRetryAfter } from 'rxspeech/internal/protocol/retry-after'
import { requestStatus } from '../conversation/request-status.js'
import { UploadError } from '../conversation/upload-error.js'
import type { HttpRefusal } from 'rxspeech-server/listen/upgrade-request'

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

  /** The error in an answer. */
  get fields() {
    const { message, param, code } = this
    return { message, type: typeOf(this.status), param, code }
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
  const known = toOpenAiError(error)
  if (known === undefined || !isSpeechError(error)) {
    return known && refusal(known, error instanceof UploadError && error.isRetryable)
  }
  const isRetryable = error.code !== 'internal' && errorTable[error.code].retryable
  return refusal(known, isRetryable, error.retryAfterMs)
}

/** The names here of parameters of a recognition that an engine may refuse. */
const parameterNames: Readonly<Record<string, string>> = { language: 'language', phrases: 'keywords' }

/**
 * An error in the terms of the OpenAI interface. Undefined for a fault of the service.
 *
 * @param path where the parameters of the recognition are, with a dot at its end
 */
export const toOpenAiError = (error: unknown, path = ''): OpenAiError | undefined => {
  if (error instanceof OpenAiError) return error
  if (error instanceof UploadError) return new OpenAiError(error.status, error.message, error.code, 'file')
  if (!isSpeechError(error)) return undefined
  const { code, message } = error
  if (code === 'invalid-wav') return invalidField('file', message, 'invalid_audio')
  const [parameter = ''] = /^\w+/.exec(message) ?? []
  const name = code === 'invalid-field' ? parameterNames[parameter] : undefined
  if (name !== undefined) return invalidField(path + name, message.replace(parameter, name))
  const status = requestStatus(error)
  return status === undefined ? undefined : new OpenAiError(status, message, code.replaceAll('-', '_'))
}

const refusal = ({ status, fields }: OpenAiError, isRetryable = false, retryAfterMs?: number): HttpRefusal => ({
  status,
  headers: {
    'Content-Type': 'application/json',
    'x-should-retry': String(isRetryable),
    ...(isRetryable && { 'Retry-After': spreadRetryAfter(retryAfterMs) }),
    ...(status === 401 && { 'WWW-Authenticate': 'Bearer' }),
  },
  body: JSON.stringify({ error: fields }),
})

const types: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  429: 'rate_limit_error',
}

const typeOf = (status: number): string => types[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error')
