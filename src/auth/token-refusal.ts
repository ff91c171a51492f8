import { either } from 'fp-ts'
import type { ErrorCode } from '../errors/error-code.js'
import { SecretMask, shortestMasked } from '../errors/secret-mask.js'
import { SpeechError } from '../errors/speech-error.js'
import { ownValue, parseJsonObject } from '../protocol/json-object.js'
import { retryAfterMs } from '../protocol/retry-after.js'

/** An answer as far as it was read. */
export interface TokenAnswer {
  readonly status: number
  readonly retryAfter: string | null
  readonly body: string
}

const invalidClient = ['invalid-client', 'Check the client id and the client secret.'] as const

/** RFC 6749 section 5.2: the code, and what to do then. */
const refusals = new Map<unknown, readonly [code: ErrorCode, help: string]>([
  ['invalid_request', ['invalid-request', 'The token request was malformed; check client id, secret and scope.']],
  ['invalid_client', invalidClient],
  ['invalid_grant', ['invalid-grant', 'The service did not accept the grant; use client credentials.']],
  ['unauthorized_client', ['unauthorized-client', 'The subscription has expired or was cancelled; renew it.']],
  [
    'unsupported_grant_type',
    ['unsupported-grant-type', 'The address is not a token endpoint for client credentials; check it.'],
  ],
  ['invalid_scope', ['invalid-scope', 'Ask for the scope Ldm_Integration.']],
])

/** Statuses that another attempt can change (RFC 9110 section 15, RFC 8470 section 5.2). */
const isPassing = (status: number): boolean => status >= 500 || status === 408 || status === 425

/**
 * What an answer that grants nothing means: a code of RFC 6749 section 5.2 where the endpoint names one,
 * `too-many-attempts` for 429 (RFC 6585 section 4), `overloaded` for 503 and `temporarily_unavailable`, else `token-endpoint-failed`.
 */
export const refusalOf = ({ status, retryAfter, body }: TokenAnswer, secret: string, nowMs: number): SpeechError => {
  const waitMs = retryAfterMs(retryAfter, nowMs)
  const wait = waitMs === undefined ? {} : { retryAfterMs: waitMs }
  const when = waitMs === undefined ? 'later' : `in ${Math.ceil(waitMs / 1000)} s`
  if (status === 429) {
    return new SpeechError(
      'too-many-attempts',
      `The token endpoint takes no more attempts now; try again ${when}.`,
      wait,
    )
  }
  const json = parseJsonObject(body)
  const named = either.isRight(json) ? ownValue(json.right, 'error') : undefined
  if (status === 503 || named === 'temporarily_unavailable') {
    return new SpeechError('overloaded', `The token endpoint takes no requests now; try again ${when}.`, wait)
  }
  const refusal = refusals.get(named)
  if (refusal !== undefined && !isPassing(status)) {
    const [code, help] = refusal
    const said = either.isRight(json) ? ownValue(json.right, 'error_description') : undefined
    return new SpeechError(code, help + quoted(said, secret))
  }
  if (status === 401) return new SpeechError(...invalidClient)
  if (status >= 300 && status < 400) {
    const message =
      'The token endpoint redirects, which is not followed lest the secret travels; give its final address.'
    return new SpeechError('token-endpoint-failed', message, { retryable: false })
  }
  const message = `The token endpoint answered with status ${status} and no error that RFC 6749 knows; check authUrl.`
  return new SpeechError('token-endpoint-failed', message, { retryable: isPassing(status), ...wait })
}

const longestQuote = 200

/** Finds a client secret also as the form of it that HTTP Basic has in base64 (RFC 6749 section 2.3.1). */
export const maskOfSecret = (secret: string): SecretMask =>
  new SecretMask([secret, encodeURIComponent(secret), new URLSearchParams([['', secret]]).toString().slice(1)])

/** The endpoint's own words without the secret; none where they hold what RFC 6749 section 5.2 forbids. */
const quoted = (said: unknown, secret: string): string => {
  if (typeof said !== 'string' || said === '') return ''
  const words = maskOfSecret(secret).clean(said)
  const isPlain = /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/.test(words)
  // A secret that is too short to be told from an ordinary word.
  const isHidden = secret.length >= shortestMasked || !words.includes(secret)
  return isPlain && isHidden && words.length <= longestQuote ? ` It says: ${words}` : ''
}
