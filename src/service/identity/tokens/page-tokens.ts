import { randomBytes } from 'node:crypto'
import type { SigningKeys } from '../keys/signing-keys.js'
import { loadJose } from '../keys/load-jose.js'
import { tokenScope, type TokenClaims } from './token-claims.js'
import type { Grant } from './token-verifier.js'

/** The life of a token for a page, in seconds. */
export const pageTokenLifetime = { minS: 60, maxS: 3_600, defaultS: 600 } as const

/** What a token for a page contains (PROTOCOL 2.1). */
export interface PageTokenInput extends Pick<Grant, 'clientId' | 'tenants' | 'projects' | 'models' | 'origin'> {
  readonly lifetimeS: number
  /** The end of the rights that it is narrowed from; milliseconds since 1970. */
  readonly notAfterMs: number
  /** The id of the token that it is issued for. */
  readonly parentId?: string | undefined
}

export interface IssuedPageToken {
  readonly accessToken: string
  /** In seconds; shorter than requested if the rights end earlier. */
  readonly expiresInS: number
}

export interface PageTokenSignerOptions {
  readonly issuer: string
  readonly audience: string
  readonly keys: Pick<SigningKeys, 'current' | 'rotateIfDue'>
  readonly now: () => number
  readonly onFault: (error: unknown) => void
}

/** Signs tokens for pages with the current key. It checks no rights. */
export const createPageTokenSigner = async (
  options: PageTokenSignerOptions,
): Promise<(input: PageTokenInput) => Promise<IssuedPageToken>> => {
  const { issuer, audience, keys, now, onFault } = options
  const { importJWK, SignJWT } = await loadJose()
  return async ({ clientId, tenants, projects, models, origin, lifetimeS, notAfterMs, parentId }) => {
    // If no new key can be written, such as on a full disk, the existing key continues to sign.
    await keys.rotateIfDue().catch(onFault)
    const [key] = keys.current()
    const iat = Math.floor(now() / 1000)
    const exp = Math.min(iat + lifetimeS, Math.floor(notAfterMs / 1000))
    const claims: Omit<TokenClaims, 'jti' | 'iat' | 'exp'> = {
      client_id: clientId,
      scope: tokenScope,
      ...{ tenants, projects, models, token_use: 'page' },
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

/**
 * The origin as browsers send it (RFC 6454 section 6.2): `scheme://host[:port]` in lower case, without a default port;
 * undefined for anything else, also for `null`.
 */
export const parseOrigin = (text: string): string | undefined => {
  if (!/^[a-z][a-z\d+.-]*:\/\/[^/?#@\s\\*]+$/i.test(text) || !URL.canParse(text)) return undefined
  const { origin, protocol, host } = new URL(text)
  // Schemes of apps, such as capacitor://localhost, have no origin for `URL`.
  if (origin === 'null') return host === '' ? undefined : `${protocol}//${host.toLowerCase()}`
  return origin
}
