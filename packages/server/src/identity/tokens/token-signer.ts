import { randomBytes } from 'node:crypto'
import { loadJose } from '../keys/load-jose.js'
import type { SigningKeys } from '../keys/signing-keys.js'
import { tokenScope, type TokenClaims } from './token-claims.js'
import type { Grant } from './token-verifier.js'

/** What a token contains (PROTOCOL 2). */
export interface TokenInput extends Pick<
  Grant,
  'clientId' | 'tenants' | 'projects' | 'models' | 'isForPage' | 'origin' | 'parentId'
> {
  readonly lifetimeS: number
  /** The end of the rights that it is narrowed from; milliseconds since 1970. @default none */
  readonly notAfterMs?: number | undefined
}

export interface IssuedToken {
  readonly accessToken: string
  /** In seconds; shorter than requested if the rights end earlier. */
  readonly expiresInS: number
}

export type SignToken = (input: TokenInput) => Promise<IssuedToken>

export interface TokenSignerOptions {
  readonly issuer: string
  readonly audience: string
  readonly keys: Pick<SigningKeys, 'current' | 'rotateIfDue'>
  readonly now: () => number
  readonly onFault: (error: unknown) => void
}

/** Signs access tokens (RFC 9068) with the current key. It checks no rights. */
export const createTokenSigner = async (options: TokenSignerOptions): Promise<SignToken> => {
  const { issuer, audience, keys, now, onFault } = options
  const { importJWK, SignJWT } = await loadJose()
  return async (input) => {
    const { clientId, tenants, projects, models, lifetimeS, notAfterMs = Infinity } = input
    const { isForPage, origin, parentId } = input
    // If no new key can be written, such as on a full disk, the existing key continues to sign.
    await keys.rotateIfDue().catch(onFault)
    const [key] = keys.current()
    const iat = Math.floor(now() / 1000)
    const exp = Math.min(iat + lifetimeS, Math.floor(notAfterMs / 1000))
    const claims: Omit<TokenClaims, 'jti' | 'iat' | 'exp'> = {
      client_id: clientId,
      scope: tokenScope,
      tenants,
      projects,
      models,
      ...(isForPage === true && { token_use: 'page' }),
      ...(origin !== undefined && { origin }),
      ...(parentId !== undefined && { parent_jti: parentId }),
    }
    const accessToken = await new SignJWT({ ...claims })
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: key.kid })
      .setIssuer(issuer)
      .setSubject(clientId)
      .setAudience(audience)
      .setJti(randomBytes(16).toString('base64url'))
      .setIssuedAt(iat)
      .setExpirationTime(exp)
      .sign(await importJWK({ ...key }, 'ES256'))
    return { accessToken, expiresInS: exp - iat }
  }
}

/** The answer with a token (RFC 6749 section 5.1). */
export const tokenResponse = ({ accessToken, expiresInS }: IssuedToken) =>
  ({ access_token: accessToken, expires_in: expiresInS, token_type: 'Bearer', scope: tokenScope }) as const
