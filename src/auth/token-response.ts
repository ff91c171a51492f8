import { either } from 'fp-ts'
import type { SpeechError } from '../errors/speech-error.js'
import { codec, oneOf, text, type Codec } from '../protocol/validation.js'
import { integer, decodeWith, messageCodec, optional, required, type MessageCodec } from '../protocol/message-codec.js'
import { parseJsonObject } from '../protocol/json-object.js'
import type { Token } from '../protocol/token.js'

/** The answer of a token endpoint that grants (service.md 2.8, RFC 6749 section 5.1). */
export interface TokenResponse {
  readonly accessToken: string
  readonly expiresInSeconds: number
  readonly tokenType: 'Bearer'
  readonly scope?: string
}

const isAccessToken = (value: unknown): value is string => typeof value === 'string' && /^[\x21-\x7e]+$/.test(value)

/** Visible ASCII only (RFC 6750 section 2.1): it will stand in a header and in a subprotocol. */
const accessToken: Codec<string> = codec('a string of visible ASCII characters', isAccessToken)

/** In any letter case (RFC 6749 section 5.1). */
const bearer: Codec<'Bearer'> = codec('"Bearer"', oneOf('Bearer').is, {
  read: (input) => (typeof input === 'string' && input.toLowerCase() === 'bearer' ? 'Bearer' : input),
})

/** A thousand years, so that the end of a token stays a number that clocks can hold. */
const maxSeconds = 31_536_000_000

export const tokenResponse: MessageCodec<TokenResponse> = messageCodec<TokenResponse>({
  accessToken: required(accessToken, 'access_token'),
  expiresInSeconds: required(integer({ min: 1, max: maxSeconds, unit: 'seconds' }), 'expires_in'),
  tokenType: required(bearer, 'token_type'),
  scope: optional(text, 'scope'),
})

/** The token of an answer. `requestedAtMs` is when it was asked for: it was not issued before, so it ends no earlier. */
export const parseToken = (body: string, requestedAtMs: number): either.Either<SpeechError, Token> => {
  const json = parseJsonObject(body)
  const decoded = either.isLeft(json) ? json : decodeWith(tokenResponse, json.right)
  if (either.isLeft(decoded)) return decoded
  const { expiresInSeconds, ...token } = decoded.right
  return either.right({ ...token, expiresAtMs: requestedAtMs + expiresInSeconds * 1000 })
}
