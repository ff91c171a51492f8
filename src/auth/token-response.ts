import { either } from 'fp-ts'
import { map, type Observable, reduce } from 'rxjs'
import type { ErrorCode } from '../errors/error-table.js'
import { SecretMask, minMaskedLength } from '../errors/secret-mask.js'
import { SpeechError } from '../errors/speech-error.js'
import { ownValue, parseJsonObject } from '../protocol/parse-json.js'
import { decodeWith, messageCodec, type MessageCodec, optional, required } from '../protocol/message-codec.js'
import { retryAfterMs } from '../protocol/retry-after.js'
import type { Token } from '../protocol/token.js'
import { codec, type Codec, oneOf, text } from '../protocol/validation.js'

/** The answer of a token endpoint with a token (PROTOCOL 2, RFC 6749 section 5.1). */
export interface TokenResponse {
  readonly accessToken: string
  /** Absent if the endpoint does not say it, as RFC 6749 allows. */
  readonly expiresInSeconds?: number
  readonly tokenType: 'Bearer'
  readonly scope?: string
}

const isAccessToken = (value: unknown): value is string => typeof value === 'string' && /^[\x21-\x7e]+$/.test(value)

/** Visible ASCII only (RFC 6750 section 2.1), for use in a header and in a subprotocol. */
const accessToken: Codec<string> = codec('a string of visible ASCII characters', isAccessToken)

/** In any letter case (RFC 6749 section 5.1). */
const bearer: Codec<'Bearer'> = codec('"Bearer"', oneOf('Bearer').is, {
  read: (input) => (typeof input === 'string' && input.toLowerCase() === 'bearer' ? 'Bearer' : input),
})

/** Up to a thousand years, within the range of clocks. Some endpoints send fractions or strings. */
const seconds: Codec<number> = codec('a number of seconds above 0', (value): value is number => isLifetime(value), {
  read: (input) => (typeof input === 'string' && /^\d{1,16}$/.test(input) ? Number(input) : input),
})
const isLifetime = (value: unknown): boolean => typeof value === 'number' && value > 0 && value <= 31_536_000_000

export const tokenResponse: MessageCodec<TokenResponse> = messageCodec<TokenResponse>({
  accessToken: required(accessToken, 'access_token'),
  expiresInSeconds: optional(seconds, 'expires_in'),
  tokenType: required(bearer, 'token_type'),
  scope: optional(text, 'scope'),
})

/**
 * The token of an answer. Its expiry counts from `requestedAtMs`, because it was not issued before the request. An
 * answer of another form will have that form again, so the error is not retryable, unless the answer broke off.
 */
export const parseToken = (body: string, requestedAtMs: number): either.Either<SpeechError, Token> => {
  const json = parseJsonObject(body)
  if (either.isLeft(json)) return either.left(notJson(body.trim()))
  // Serializers of some languages write null for what is absent.
  const fields = Object.fromEntries(Object.entries(json.right).filter(([, value]) => value !== null))
  const decoded = decodeWith(tokenResponse, fields)
  if (either.isLeft(decoded))
    return either.left(unusable(`sent an answer that is not a token: ${decoded.left.message}`))
  const { expiresInSeconds = Infinity, ...token } = decoded.right
  return either.right({ ...token, expiresAtMs: requestedAtMs + expiresInSeconds * 1000 })
}

const unusable = (what: string, retryable = false): SpeechError =>
  new SpeechError('token-endpoint-failed', `The token endpoint ${what}`, { retryable })

const notJson = (body: string): SpeechError => {
  if (body === '') return unusable('sent an empty answer; try again, or check authUrl.', true)
  if (body.startsWith('{')) return unusable('sent an answer that is not JSON; try again, or check authUrl.', true)
  const kind = body.startsWith('<') ? 'HTML or XML' : 'text'
  const message = `The token endpoint sent ${kind} in place of a JSON object; check authUrl.`
  return new SpeechError('token-endpoint-failed', message, { retryable: false })
}

/** Some endpoints send an error with the status 200. */
export const isRefusal = ({ status, body }: TokenAnswer): boolean => {
  if (status !== 200) return true
  const json = parseJsonObject(body)
  return (
    either.isRight(json) && typeof ownValue(json.right, 'error') === 'string' && !ownValue(json.right, 'access_token')
  )
}

/** The answer of a token endpoint. */
export interface TokenAnswer {
  readonly status: number
  readonly retryAfter: string | null
  readonly body: string
}

const invalidClient = ['invalid-client', 'Check the client id and the client secret.'] as const

/** The errors of RFC 6749 section 5.2: the code, and what to do. */
const refusals = new Map<unknown, readonly [code: ErrorCode, help: string]>([
  ['invalid_request', ['invalid-request', 'The token request was malformed; check client id, secret and scope.']],
  ['invalid_client', invalidClient],
  ['invalid_grant', ['invalid-grant', 'The service did not accept the grant; use client credentials.']],
  ['unauthorized_client', ['unauthorized-client', 'The subscription has expired or was cancelled; renew it.']],
  [
    'unsupported_grant_type',
    ['unsupported-grant-type', 'The address is not a token endpoint for client credentials; check it.'],
  ],
  ['invalid_scope', ['invalid-scope', 'Request the scope Ldm_Integration.']],
])

/** Statuses that another attempt can change (RFC 9110 section 15, RFC 8470 section 5.2). */
const isTemporary = (status: number): boolean => status >= 500 || status === 408 || status === 425

/**
 * The error for an answer without a token: a code of RFC 6749 section 5.2 if the endpoint sends one,
 * `too-many-attempts` for 429 (RFC 6585 section 4), `overloaded` for 503 and `temporarily_unavailable`, else
 * `token-endpoint-failed`.
 */
export const refusalOf = ({ status, retryAfter, body }: TokenAnswer, secret: string, nowMs: number): SpeechError => {
  const waitMs = retryAfterMs(retryAfter, nowMs)
  const wait = { retryAfterMs: waitMs }
  const when = waitMs === undefined ? 'later' : `in ${Math.ceil(waitMs / 1000)} s`
  if (status === 429) {
    return new SpeechError(
      'too-many-attempts',
      `The token endpoint accepts no more attempts now; try again ${when}.`,
      wait,
    )
  }
  const json = parseJsonObject(body)
  const named = either.isRight(json) ? ownValue(json.right, 'error') : undefined
  if (status === 503 || named === 'temporarily_unavailable') {
    return new SpeechError('overloaded', `The token endpoint accepts no requests now; try again ${when}.`, wait)
  }
  const refusal = refusals.get(named)
  if (refusal !== undefined && !isTemporary(status)) {
    const [code, help] = refusal
    const description = either.isRight(json) ? ownValue(json.right, 'error_description') : undefined
    return new SpeechError(code, help + quoted(description, secret))
  }
  if (status === 401) return new SpeechError(...invalidClient)
  if (status >= 300 && status < 400) {
    const message =
      'The token endpoint redirects, which is not followed to protect the client secret; configure the final address.'
    return new SpeechError('token-endpoint-failed', message, { retryable: false })
  }
  const message = `The token endpoint answered with status ${status} and no error that RFC 6749 knows; check authUrl.`
  return new SpeechError('token-endpoint-failed', message, { retryable: isTemporary(status), ...wait })
}

const maxQuoteLength = 200

/** Finds a client secret also in its base64 form of HTTP Basic (RFC 6749 section 2.3.1). */
export const maskOfSecret = (secret: string): SecretMask =>
  new SecretMask([secret, encodeURIComponent(secret), new URLSearchParams([['', secret]]).toString().slice(1)])

/** The endpoint's description without the secret; empty if it contains characters that RFC 6749 section 5.2 forbids. */
const quoted = (description: unknown, secret: string): string => {
  if (typeof description !== 'string' || description === '') return ''
  const words = maskOfSecret(secret).clean(description)
  const isPlain = /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/.test(words)
  // A short secret cannot be distinguished from an ordinary word.
  const isHidden = secret.length >= minMaskedLength || !words.includes(secret)
  return isPlain && isHidden && words.length <= maxQuoteLength ? ` The token endpoint says: ${words}` : ''
}

/** The size limit of an answer. */
export const maxAnswerBytes = 64 * 1024

/** Reads a whole body as UTF-8 text, once; beyond `maxBytes` it stops reading and errors with `tooBig`. */
export function boundedText(body$: Observable<Uint8Array>, maxBytes: number, tooBig: () => Error): Observable<string> {
  return body$.pipe(
    reduce<Uint8Array, Read>(
      ({ decoder, text, size }, bytes) => {
        if (size + bytes.byteLength > maxBytes) throw tooBig()
        return { decoder, text: text + decoder.decode(bytes, { stream: true }), size: size + bytes.byteLength }
      },
      { decoder: new TextDecoder(), text: '', size: 0 },
    ),
    map(({ decoder, text }) => text + decoder.decode()),
  )
}

interface Read {
  readonly decoder: TextDecoder
  readonly text: string
  readonly size: number
}
