import { either } from 'fp-ts'
import * as t from 'io-ts'

/** The only scope (PROTOCOL 2). */
export const tokenScope = 'Ldm_Integration'

/** The claims of an access token in addition to those that `jose` checks (RFC 9068 section 2.2). */
export interface TokenClaims {
  readonly jti: string
  readonly client_id: string
  readonly scope: string
  /** Seconds since 1970, as `exp`. */
  readonly iat: number
  readonly exp: number
  readonly tenants: readonly string[]
  readonly projects: readonly string[]
  readonly models: readonly string[]
  /** Marks a token for a page (PROTOCOL 2.1), which cannot be exchanged for another one. */
  readonly token_use?: 'page'
  /** The only origin whose pages can use the token. */
  readonly origin?: string
  /** The `jti` of the token that this one was issued for; its revocation ends both. */
  readonly parent_jti?: string
}

export const tokenClaimsCodec: t.Type<TokenClaims, unknown> = t.intersection([
  t.type({
    jti: t.string,
    client_id: t.string,
    scope: t.string,
    iat: t.number,
    exp: t.number,
    tenants: t.readonlyArray(t.string),
    projects: t.readonlyArray(t.string),
    models: t.readonlyArray(t.string),
  }),
  // A value of another type is refused and not ignored: it would be a token without its restriction.
  t.partial({ token_use: t.literal('page'), origin: t.string, parent_jti: t.string }),
])

/** The `jti` of an unverified token; undefined if it cannot be read. */
export const tokenIdOf = (token: string): string | undefined => {
  const [, payload = '', signature] = token.split('.')
  if (signature === undefined) return undefined
  try {
    const claims = t.type({ jti: t.string }).decode(JSON.parse(Buffer.from(payload, 'base64url').toString()))
    return either.isRight(claims) ? claims.right.jti : undefined
  } catch {
    return undefined
  }
}
