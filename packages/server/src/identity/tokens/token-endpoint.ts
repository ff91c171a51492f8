import type { ClientAuthentication } from '../clients/client-authentication.js'
import { isInForce, tokenLifetimeOf, type ClientRegistration, type ClientStore } from '../clients/client.js'
import { formEndpoint, type FormEndpointOptions, type HttpEndpoint } from '../http/form-endpoint.js'
import { noStoreHeaders, sendJson, type Refusal } from '../http/responses.js'
import { authenticateClient, subscriptionOver } from './authenticate-client.js'
import { tokenScope } from './token-claims.js'
import { tokenResponse, type SignToken } from './token-signer.js'

export const tokenRoute = '/connect/token'

export interface TokenEndpointOptions extends FormEndpointOptions {
  readonly issuer: string
  readonly audience: string
  readonly authentication: ClientAuthentication
  readonly clients: ClientStore
  readonly sign: SignToken
  readonly now: () => number
}

/** `POST /connect/token` (PROTOCOL 2): the client credentials grant of RFC 6749 section 4.4. Never rejects. */
export const tokenEndpoint = (options: TokenEndpointOptions): HttpEndpoint =>
  formEndpoint(options, async (request, response, form) => {
    const client = await authenticateClient(options, request, form, {
      status: 400,
      error: 'invalid_request',
      description: 'client_id is missing; send it with client_secret, in the form or as HTTP Basic',
    })
    if (client === undefined) return
    const refusal = checkRequest(form.fields, client, options)
    if (refusal !== undefined) {
      form.refuse(refusal)
      return
    }
    const { clientId, tenants, projects, models } = client
    const token = await options.sign({ clientId, tenants, projects, models, lifetimeS: tokenLifetimeOf(client) })
    sendJson(response, 200, tokenResponse(token), noStoreHeaders)
  })

/** Why an authenticated client gets no token, in the order of RFC 6749: grant type, client, target, scope. */
const checkRequest = (
  fields: URLSearchParams,
  client: ClientRegistration,
  { audience, now }: Pick<TokenEndpointOptions, 'audience' | 'now'>,
): Refusal | undefined => {
  const refusal = (error: string, description: string): Refusal => ({ status: 400, error, description })
  // A field without a value counts as absent (RFC 6749 section 3.2).
  const [grantType, resource, scope] = ['grant_type', 'resource', 'scope'].map((name) => fields.get(name) ?? '')
  if (grantType === '') return refusal('invalid_request', 'grant_type is missing')
  if (grantType !== 'client_credentials') {
    return refusal('unsupported_grant_type', 'grant_type must be client_credentials')
  }
  if (!isInForce(client, now())) return subscriptionOver
  if (resource !== '' && resource !== audience) {
    return refusal('invalid_target', `resource must be ${audience}, or absent`)
  }
  if (scope !== '' && scope !== tokenScope) return refusal('invalid_scope', `scope must be ${tokenScope}`)
  return undefined
}
