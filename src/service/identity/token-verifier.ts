import { either } from 'fp-ts'
import { SpeechError } from '../../errors/speech-error.js'
import type { AuthFailure } from '../monitor/service-monitor.js'
import type { Revocations } from './revocations.js'
import type { SigningJwk } from './signing-keys.js'
import { grantedByBoth, isInForce, type SubscriptionStore } from './subscription.js'
import { tokenClaimsCodec, tokenScope, type TokenClaims } from './token-claims.js'

/** Longer tokens are refused unread; ours have some 700 bytes with a handful of grants. */
export const maxTokenBytes = 16 * 1024

/** What a token allows. Each list holds names, or `*` for all; ask `isGranted`. */
export interface Grant {
  readonly clientId: string
  readonly tokenId: string
  readonly tenants: readonly string[]
  readonly projects: readonly string[]
  readonly models: readonly string[]
  /** When the token or the subscription ends, whichever is first; milliseconds since 1970. */
  readonly expiresAtMs: number
}

export interface TokenVerifierOptions {
  readonly issuer: string
  readonly audience: string
  readonly keys: () => readonly SigningJwk[]
  readonly subscriptions: SubscriptionStore
  readonly revocations: Revocations
  readonly now: () => number
}

export type VerifyToken = (token: string) => Promise<Grant>

/** A key as JWKS publishes it (RFC 7517), without its private part. */
export const publicJwk = ({ kty, crv, x, y, kid }: SigningJwk) =>
  ({ kty, crv, x, y, kid, alg: 'ES256', use: 'sig' }) as const

/** The reason goes along for the operator's counts; the client is told the sentence. */
const unauthenticated = (reason: AuthFailure, message: string): SpeechError =>
  new SpeechError('unauthenticated', message, { cause: reason })

/** No cause but our own word goes along: errors of `jose` hold the claims. */
const refusal = (error: unknown): SpeechError =>
  error instanceof Error && 'code' in error && error.code === 'ERR_JWT_EXPIRED'
    ? unauthenticated('expired-token', 'The token has expired; request a new one from the token endpoint.')
    : unauthenticated('invalid-token', 'The token is not valid; present a bearer token from the token endpoint.')

/**
 * Verifies access tokens of RFC 9068 with local keys: type, ES256 signature, issuer, audience, scope, times; then that the token is
 * not revoked and its subscription is still in force. Rejects with `unauthenticated` for whatever is amiss.
 */
export const createTokenVerifier = async (options: TokenVerifierOptions): Promise<VerifyToken> => {
  const { issuer, audience, keys, subscriptions, revocations, now } = options
  const { createLocalJWKSet, jwtVerify } = await import('jose')
  const loadKeys = () => ({ newest: keys()[0]?.kid, find: createLocalJWKSet({ keys: keys().map(publicJwk) }) })
  let known = loadKeys()

  const signedClaims = async (token: string): Promise<TokenClaims> => {
    if (known.newest !== keys()[0]?.kid) known = loadKeys()
    const { payload } = await jwtVerify(token, known.find, {
      algorithms: ['ES256'],
      typ: 'at+jwt',
      issuer,
      audience,
      currentDate: new Date(now()),
      requiredClaims: ['exp', 'iat', 'jti', 'sub', 'client_id'],
    })
    const claims = tokenClaimsCodec.decode(payload)
    if (either.isLeft(claims)) throw refusal(undefined)
    return claims.right
  }

  return async (token) => {
    if (typeof token !== 'string' || Buffer.byteLength(token) > maxTokenBytes) throw refusal(undefined)
    const claims = await signedClaims(token).catch((error: unknown) => Promise.reject(refusal(error)))
    if (claims.scope !== tokenScope) throw refusal(undefined)
    if (revocations.has(claims.jti))
      throw unauthenticated('revoked-token', 'The token was revoked; request a new one from the token endpoint.')
    const subscription = subscriptions.find(claims.client_id)
    if (subscription === undefined || !isInForce(subscription, now())) {
      throw unauthenticated(
        'subscription-over',
        'The subscription of the token has expired or was cancelled; renew it.',
      )
    }
    return {
      clientId: claims.client_id,
      tokenId: claims.jti,
      // A year is long: what the subscription has lost since then, the token has lost too.
      tenants: grantedByBoth(claims.tenants, subscription.tenants),
      projects: grantedByBoth(claims.projects, subscription.projects),
      models: grantedByBoth(claims.models, subscription.models),
      expiresAtMs: Math.min(claims.exp * 1000, subscription.validUntilMs),
    }
  }
}
