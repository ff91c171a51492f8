import { either } from 'fp-ts'
import { codeOf, isSpeechError, SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { AuthFailure } from '../../monitor/service-monitor.js'
import { loadJose } from '../keys/load-jose.js'
import { clockToleranceMs, type SigningJwk } from '../keys/key-list.js'
import type { SigningKeys } from '../keys/signing-keys.js'
import type { Revocations } from './revocations.js'
import { grantedByBoth, isInForce, type ClientRegistration, type ClientStore } from '../clients/client.js'
import { tokenClaimsCodec, tokenScope, type TokenClaims } from './token-claims.js'

/** Longer tokens are refused without a check; issued ones have about 700 bytes with a few grants. */
const maxTokenBytes = 16 * 1024

/** What a token allows. Each list holds names, or `*` for all; see `isGranted`. */
export interface Grant {
  readonly clientId: string
  readonly tokenId: string
  readonly tenants: readonly string[]
  readonly projects: readonly string[]
  readonly models: readonly string[]
  /** When the token or its registration ends, whichever is first; milliseconds since 1970. */
  readonly expiresAtMs: number
  /** Whether it is a token for a page (PROTOCOL 2.1). @default false */
  readonly isForPage?: boolean | undefined
  /** The only origin whose pages can use it. @default any client, with or without an origin */
  readonly origin?: string | undefined
  /** The id of the token that it was issued for; the revocation of that one ends both. @default none */
  readonly parentId?: string | undefined
}

export interface TokenVerifierOptions {
  readonly issuer: string
  readonly audience: string
  readonly keys: Pick<SigningKeys, 'current' | 'refresh'>
  readonly clients: ClientStore
  readonly revocations: Pick<Revocations, 'has'>
  readonly now: () => number
}

export interface TokenVerifier {
  /** Returns what the token allows now. Rejects with `unauthenticated`. */
  readonly verify: (token: string) => Promise<Grant>
  /** The claims of a token that is signed and not expired, even if it is revoked. Rejects as `verify` does. */
  readonly readClaims: (token: string) => Promise<TokenClaims>
  /** Why an earlier grant is no longer valid; undefined while it is valid. */
  readonly endOf: (grant: Grant) => SpeechError | undefined
}

/** A key as JWKS publishes it (RFC 7517), without its private part. */
export const publicJwk = ({ kty, crv, x, y, kid }: SigningJwk) =>
  ({ kty, crv, x, y, kid, alg: 'ES256', use: 'sig' }) as const

/** The cause is the reason for the operator's metrics; the client gets the sentence. */
const unauthenticated = (reason: AuthFailure, message: string): SpeechError =>
  new SpeechError('unauthenticated', message, { cause: reason })

const expired = (): SpeechError =>
  unauthenticated('expired-token', 'The token has expired; request a new one from the token endpoint.')

/** Errors of `jose` contain the claims, so they never become the cause. */
const refusal = (error: unknown): SpeechError =>
  codeOf(error) === 'ERR_JWT_EXPIRED'
    ? expired()
    : unauthenticated('invalid-token', 'The token is not valid; present a bearer token from the token endpoint.')

/** Why no session can use the token: it was revoked, or its registration is not valid. */
const endOfToken = (
  { revocations, now }: TokenVerifierOptions,
  { tokenId, parentId }: Pick<Grant, 'tokenId' | 'parentId'>,
  client: ClientRegistration | undefined,
): SpeechError | undefined => {
  if (revocations.has(tokenId) || (parentId !== undefined && revocations.has(parentId))) {
    return unauthenticated('revoked-token', 'The token was revoked; request a new one from the token endpoint.')
  }
  if (client === undefined || !isInForce(client, now())) {
    return unauthenticated('subscription-over', 'The subscription of the token has expired or was cancelled; renew it.')
  }
  return undefined
}

/**
 * Verifies access tokens of RFC 9068 with local keys: type, ES256 signature, issuer, audience, scope and times; then
 * that the token is not revoked and its registration is valid. Keys come only from the key set, never from the token's
 * header.
 */
export const createTokenVerifier = async (options: TokenVerifierOptions): Promise<TokenVerifier> => {
  const { issuer, audience, keys, clients, now } = options
  const { createLocalJWKSet, jwtVerify } = await loadJose()
  const loadKeys = () => {
    const list = keys.current()
    return { list, find: createLocalJWKSet({ keys: list.map(publicJwk) }) }
  }
  let known = loadKeys()

  // Another process can have added or removed a key, which costs one check of the file's stamp. If that fails, the
  // known keys stay valid.
  const signedClaims = async (token: string): Promise<TokenClaims> => {
    await keys.refresh().catch(() => false)
    return claimsByKnownKeys(token)
  }

  const claimsByKnownKeys = async (token: string): Promise<TokenClaims> => {
    if (known.list !== keys.current()) known = loadKeys()
    const { payload } = await jwtVerify(token, known.find, {
      algorithms: ['ES256'],
      typ: 'at+jwt',
      issuer,
      audience,
      currentDate: new Date(now()),
      // The clock of the machine that signed it may be ahead. Below, the expiry has no tolerance.
      clockTolerance: clockToleranceMs / 1000,
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
    if (claims.scope !== tokenScope || claims.iat * 1000 > now() + clockToleranceMs) throw refusal(undefined)
    return claims
  }

  const verify = async (token: string): Promise<Grant> => {
    const claims = await readClaims(token)
    const client = clients.find(claims.client_id)
    const end = endOfToken(options, { tokenId: claims.jti, parentId: claims.parent_jti }, client)
    if (end !== undefined || client === undefined) throw end ?? refusal(undefined)
    return {
      clientId: claims.client_id,
      tokenId: claims.jti,
      // The token also loses rights that its registration has lost since it was issued.
      tenants: grantedByBoth(claims.tenants, client.tenants),
      projects: grantedByBoth(claims.projects, client.projects),
      models: grantedByBoth(claims.models, client.models),
      expiresAtMs: Math.min(claims.exp * 1000, client.validUntilMs),
      ...(claims.token_use === 'page' && { isForPage: true }),
      ...(claims.origin !== undefined && { origin: claims.origin }),
      ...(claims.parent_jti !== undefined && { parentId: claims.parent_jti }),
    }
  }

  return {
    verify,
    readClaims,
    endOf: ({ clientId, tokenId, parentId, expiresAtMs }) =>
      endOfToken(options, { tokenId, parentId }, clients.find(clientId)) ??
      (expiresAtMs <= now() ? expired() : undefined),
  }
}

/** Turns the error of a refused token into undefined; rethrows internal errors. */
export const undefinedIfRefused = (error: unknown): undefined => {
  if (isSpeechError(error) && error.code === 'unauthenticated') return undefined
  throw error
}
