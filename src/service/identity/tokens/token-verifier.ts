import { either } from 'fp-ts'
import { SpeechError } from '../../../errors/speech-error.js'
import type { AuthFailure } from '../../monitor/service-monitor.js'
import { loadJose, type SigningJwk, type SigningKeys } from '../keys/signing-keys.js'
import type { Revocations } from './revocations.js'
import { grantedByBoth, isInForce, type Subscription, type SubscriptionStore } from '../clients/client.js'
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
  readonly keys: Pick<SigningKeys, 'current' | 'refresh'>
  readonly subscriptions: SubscriptionStore
  readonly revocations: Pick<Revocations, 'has'>
  readonly now: () => number
}

export interface TokenVerifier {
  /** What a token allows, now. Rejects with `unauthenticated`. */
  readonly verify: (token: string) => Promise<Grant>
  /** The claims of a token that is signed as it should be and not over, revoked or not; rejects as `verify` does. */
  readonly readClaims: (token: string) => Promise<TokenClaims>
  /** Why a grant of before is good no longer; undefined while it is. */
  readonly endOf: (grant: Grant) => SpeechError | undefined
}

/** A key as JWKS publishes it (RFC 7517), without its private part. */
export const publicJwk = ({ kty, crv, x, y, kid }: SigningJwk) =>
  ({ kty, crv, x, y, kid, alg: 'ES256', use: 'sig' }) as const

/** The reason goes along for the operator's counts; the client is told the sentence. */
const unauthenticated = (reason: AuthFailure, message: string): SpeechError =>
  new SpeechError('unauthenticated', message, { cause: reason })

const expired = (): SpeechError =>
  unauthenticated('expired-token', 'The token has expired; request a new one from the token endpoint.')

/** No cause but our own word goes along: errors of `jose` hold the claims. */
const refusal = (error: unknown): SpeechError =>
  error instanceof Error && 'code' in error && error.code === 'ERR_JWT_EXPIRED'
    ? expired()
    : unauthenticated('invalid-token', 'The token is not valid; present a bearer token from the token endpoint.')

/** How far the clock of a machine that signs may be ahead of that of one that verifies. An end has no such grace. */
export const clockSkewS = 5

/** Why no session may run with the token: it was revoked, or its subscription is not in force. */
const endOfToken = (
  { revocations, now }: TokenVerifierOptions,
  tokenId: string,
  subscription: Subscription | undefined,
): SpeechError | undefined => {
  if (revocations.has(tokenId)) {
    return unauthenticated('revoked-token', 'The token was revoked; request a new one from the token endpoint.')
  }
  if (subscription === undefined || !isInForce(subscription, now())) {
    return unauthenticated('subscription-over', 'The subscription of the token has expired or was cancelled; renew it.')
  }
  return undefined
}

/**
 * Verifies access tokens of RFC 9068 with local keys: type, ES256 signature, issuer, audience, scope, times; then that the token is
 * not revoked and its subscription is still in force. Keys come from the key set alone, whatever the token's header holds.
 */
export const createTokenVerifier = async (options: TokenVerifierOptions): Promise<TokenVerifier> => {
  const { issuer, audience, keys, subscriptions, now } = options
  const { createLocalJWKSet, jwtVerify } = await loadJose()
  const loadKeys = () => {
    const list = keys.current()
    return { list, find: createLocalJWKSet({ keys: list.map(publicJwk) }) }
  }
  let known = loadKeys()

  // Another process may have signed with a key that it made, or taken a key away: one look at the stamp of the file. Where
  // that fails, the keys of before are good.
  const signedClaims = async (token: string): Promise<TokenClaims> => {
    await keys.refresh().catch(() => false)
    return claimsByKnown(token)
  }

  const claimsByKnown = async (token: string): Promise<TokenClaims> => {
    if (known.list !== keys.current()) known = loadKeys()
    const { payload } = await jwtVerify(token, known.find, {
      algorithms: ['ES256'],
      typ: 'at+jwt',
      issuer,
      audience,
      currentDate: new Date(now()),
      clockTolerance: clockSkewS,
      requiredClaims: ['exp', 'iat', 'jti', 'sub', 'client_id'],
    })
    const claims = tokenClaimsCodec.decode(payload)
    if (either.isLeft(claims)) throw refusal(undefined)
    return claims.right
  }

  const readClaims = async (token: string): Promise<TokenClaims> => {
    if (typeof token !== 'string' || Buffer.byteLength(token) > maxTokenBytes) throw refusal(undefined)
    const claims = await signedClaims(token).catch((error: unknown) => Promise.reject(refusal(error)))
    if (claims.exp * 1000 <= now()) throw expired()
    if (claims.scope !== tokenScope || claims.iat * 1000 > now() + clockSkewS * 1000) throw refusal(undefined)
    return claims
  }

  const verify = async (token: string): Promise<Grant> => {
    const claims = await readClaims(token)
    const subscription = subscriptions.find(claims.client_id)
    const end = endOfToken(options, claims.jti, subscription)
    if (end !== undefined || subscription === undefined) throw end ?? refusal(undefined)
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

  return {
    verify,
    readClaims,
    endOf: ({ clientId, tokenId, expiresAtMs }) =>
      endOfToken(options, tokenId, subscriptions.find(clientId)) ?? (expiresAtMs <= now() ? expired() : undefined),
  }
}
