import { either } from 'fp-ts'
import { errorTable, type ErrorCode } from '../errors/error-table.js'
import { SpeechError } from '../errors/speech-error.js'
import { ownValue, parseJsonObject } from '../protocol/json-object.js'
import { retryAfterMs } from './retry-after.js'

/** An answer as far as it was read. */
export interface TokenAnswer {
  readonly status: number
  readonly retryAfter: string | null
  readonly body: string
}

/** RFC 6749 section 5.2. */
const refusals = new Map<unknown, ErrorCode>([
  ['invalid_request', 'invalid-request'],
  ['invalid_client', 'invalid-client'],
  ['invalid_grant', 'invalid-grant'],
  ['unauthorized_client', 'unauthorized-client'],
  ['unsupported_grant_type', 'unsupported-grant-type'],
  ['invalid_scope', 'invalid-scope'],
])

/** Statuses that another attempt can change (RFC 9110 section 15, RFC 8470 section 5.2). */
const isPassing = (status: number): boolean => status >= 500 || status === 408 || status === 425

/**
 * What an answer that grants nothing means: a code of RFC 6749 section 5.2 where the endpoint names one,
 * `too-many-attempts` for 429 (RFC 6585 section 4), else `token-endpoint-failed`.
 */
export const refusalOf = ({ status, retryAfter, body }: TokenAnswer, secret: string, nowMs: number): SpeechError => {
  const waitMs = retryAfterMs(retryAfter, nowMs)
  const wait = waitMs === undefined ? {} : { retryAfterMs: waitMs }
  if (status === 429) {
    const when = waitMs === undefined ? 'later' : `in ${Math.ceil(waitMs / 1000)} s`
    return new SpeechError(
      'too-many-attempts',
      `The token endpoint takes no more attempts now; try again ${when}.`,
      wait,
    )
  }
  const json = parseJsonObject(body)
  const code = either.isRight(json) ? refusals.get(ownValue(json.right, 'error')) : undefined
  if (code !== undefined && !isPassing(status)) {
    const said = either.isRight(json) ? ownValue(json.right, 'error_description') : undefined
    return new SpeechError(code, errorTable[code].help + quoted(said, secret))
  }
  if (status === 401) return new SpeechError('invalid-client', errorTable['invalid-client'].help)
  if (status >= 300 && status < 400) {
    const message =
      'The token endpoint redirects, which is not followed lest the secret travels; give its final address.'
    return new SpeechError('token-endpoint-failed', message, { retryable: false })
  }
  const message = `The token endpoint answered with status ${status} and no error that RFC 6749 knows; check authUrl.`
  return new SpeechError('token-endpoint-failed', message, { retryable: isPassing(status), ...wait })
}

const longestQuote = 200

/** The endpoint's own words, unless they hold what RFC 6749 section 5.2 forbids, or what could be the secret. */
const quoted = (said: unknown, secret: string): string => {
  if (typeof said !== 'string' || said === '' || said.length > longestQuote) return ''
  const isPlain = /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/.test(said)
  const spellings = [secret, encodeURIComponent(secret), new URLSearchParams([['', secret]]).toString().slice(1)]
  return !isPlain || spellings.some((one) => said.includes(one)) ? '' : ` It says: ${said}`
}
