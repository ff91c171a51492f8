import type { ClientAuthentication } from '../clients/client-authentication.js'
import { isGranted, maxGrantBytes } from '../clients/client.js'
import { formEndpoint, type FormEndpointOptions, type HttpEndpoint } from '../http/form-endpoint.js'
import { noStoreHeaders, sendJson, type Refusal } from '../http/responses.js'
import { pageTokenLifetime, parseOrigin, type PageTokenInput } from './page-tokens.js'
import { tokenResponse, type SignToken } from './token-signer.js'
import { undefinedIfRefused, type Grant, type TokenVerifier } from './token-verifier.js'

export const pageTokenRoute = '/connect/page-token'

export interface PageTokenEndpointOptions extends FormEndpointOptions {
  readonly issuer: string
  readonly authentication: Pick<ClientAuthentication, 'countFailure'>
  readonly verifier: Pick<TokenVerifier, 'verify'>
  readonly sign: SignToken
}

/**
 * `POST /connect/page-token` (PROTOCOL 2.1): exchanges the access token of a subscriber for a short one with narrower
 * rights, which a page can have. The page's own backend calls it, so there is no CORS. Never rejects.
 */
export const pageTokenEndpoint = (options: PageTokenEndpointOptions): HttpEndpoint =>
  formEndpoint(
    options,
    async (request, response, { fields, address, refuse, refuseForNow }) => {
      const { issuer, authentication, verifier, sign } = options
      const challenge = (error: string) => ({ 'WWW-Authenticate': `Bearer realm="${issuer}", error="${error}"` })
      const token = /^Bearer +([\w.~+/=-]+) *$/i.exec(request.headers.authorization ?? '')?.[1]
      const grant = token === undefined ? undefined : await verifier.verify(token).catch(undefinedIfRefused)
      if (grant === undefined) {
        const waitMs = authentication.countFailure(address)
        if (waitMs > 0) refuseForNow(waitMs)
        else refuse(token === undefined ? missingToken : invalidToken, challenge('invalid_token'))
        return
      }
      if (grant.isForPage === true) {
        refuse(fromPage, challenge(fromPage.error))
        return
      }
      const input = narrow(grant, fields)
      if ('error' in input) refuse(input)
      else sendJson(response, 200, tokenResponse(await sign({ ...input, isForPage: true })), noStoreHeaders)
    },
    ['project', 'model'],
  )

const missingToken: Refusal = {
  status: 401,
  error: 'invalid_token',
  description: 'the access token of a subscriber is missing; send it as Authorization: Bearer',
}

const invalidToken: Refusal = {
  status: 401,
  error: 'invalid_token',
  description: 'the access token is not valid, has expired or was revoked; request a new one',
}

const fromPage: Refusal = {
  status: 403,
  error: 'insufficient_scope',
  description: 'a token for a page cannot be exchanged for another one; use the access token of the subscriber',
}

const malformed = (description: string): Refusal => ({ status: 400, error: 'invalid_request', description })

const wider = (what: 'tenant' | 'project' | 'model'): Refusal => ({
  status: 400,
  error: 'invalid_scope',
  description: `a ${what} is not granted to this access token; name only what it grants`,
})

const fieldNames: readonly string[] = ['lifetime', 'tenant', 'project', 'model', 'origin']

/** The rights that the fields name, all of which the grant must have; a field that is absent does not narrow. */
const narrow = (grant: Grant, fields: URLSearchParams): PageTokenInput | Refusal => {
  // An ignored field would be a token with more rights than its page should have.
  if ([...fields.keys()].some((name) => !fieldNames.includes(name))) {
    return malformed(`the fields are ${fieldNames.join(', ')}; there is no other`)
  }
  if ([...fields.values()].includes('')) return malformed('a field must not be empty')
  const { minS, maxS, defaultS } = pageTokenLifetime
  const lifetime = fields.get('lifetime') ?? String(defaultS)
  const lifetimeS = Number(lifetime)
  if (!/^\d{1,9}$/.test(lifetime) || lifetimeS < minS || lifetimeS > maxS) {
    return malformed(`lifetime must be a whole number of seconds from ${minS} to ${maxS}`)
  }
  const origin = fields.get('origin')
  const parsedOrigin = origin === null ? undefined : parseOrigin(origin)
  if (origin !== null && parsedOrigin === undefined) {
    return malformed('origin must be scheme://host or scheme://host:port, such as https://www.example.com')
  }
  const rights = { tenants: grant.tenants, projects: grant.projects, models: grant.models }
  for (const [field, list] of [
    ['tenant', 'tenants'],
    ['project', 'projects'],
    ['model', 'models'],
  ] as const) {
    const names = [...new Set(fields.getAll(field))]
    if (names.some((name) => !isGranted(grant[list], name))) return wider(field)
    if (names.length > 0) rights[list] = names
  }
  if (Buffer.byteLength(JSON.stringify(Object.values(rights))) > maxGrantBytes) {
    return malformed(`projects and models may have at most ${maxGrantBytes} bytes`)
  }
  const { clientId, tokenId, expiresAtMs } = grant
  return { clientId, ...rights, origin: parsedOrigin, lifetimeS, notAfterMs: expiresAtMs, parentId: tokenId }
}
