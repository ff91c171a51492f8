import type { IncomingMessage, ServerResponse } from 'node:http'
import { isSpeechError } from 'rxspeech/internal/errors/speech-error'
import { spreadRetryAfter } from 'rxspeech/internal/protocol/retry-after'
import type { ClientAuthentication } from '../clients/client-authentication.js'
import { isInForce, type ClientRegistration, type ClientStore } from '../clients/client.js'
import { formEndpoint, type Form, type FormEndpointOptions, type HttpEndpoint } from '../http/form-endpoint.js'
import { noStoreHeaders, sendError, sendJson } from '../http/responses.js'
import { authenticateClient, subscriptionOver } from './authenticate-client.js'
import type { Revocations } from './revocations.js'
import type { TokenClaims } from './token-claims.js'
import { undefinedIfRefused, type TokenVerifier } from './token-verifier.js'

export const introspectionRoute = '/connect/introspect'
export const revocationRoute = '/connect/revocation'

export interface TokenStatusOptions extends FormEndpointOptions {
  readonly authentication: ClientAuthentication
  readonly issuer: string
  readonly audience: string
  readonly clients: ClientStore
  readonly revocations: Pick<Revocations, 'add'>
  readonly verifier: TokenVerifier
  readonly now: () => number
}

interface Caller {
  readonly client: ClientRegistration
  readonly token: string
}

/** The client of the request and the token that it names; undefined when the request was refused. */
const callerOf = async (
  options: TokenStatusOptions,
  request: IncomingMessage,
  form: Form,
): Promise<Caller | undefined> => {
  const token = form.fields.get('token') ?? ''
  if (token === '') {
    form.refuse({ status: 400, error: 'invalid_request', description: 'token is missing' })
    return undefined
  }
  const client = await authenticateClient(options, request, form, {
    status: 401,
    error: 'invalid_client',
    description: 'client authentication is missing',
  })
  if (client === undefined) return undefined
  if (!isInForce(client, options.now())) {
    form.refuse(subscriptionOver)
    return undefined
  }
  return { client, token }
}

const sendResult = (response: ServerResponse, body: object): void => sendJson(response, 200, body, noStoreHeaders)

/**
 * `POST /connect/introspect` (RFC 7662): what a token allows now. A client can introspect its own tokens, and one with
 * `mayIntrospect` all tokens; any other token is reported as inactive, like an invalid one. Never rejects.
 */
export const introspectionEndpoint = (options: TokenStatusOptions): HttpEndpoint =>
  formEndpoint(options, async (request, response, form) => {
    const caller = await callerOf(options, request, form)
    if (caller === undefined) return
    const { client, token } = caller
    const { verifier, issuer: iss, audience: aud } = options
    const claims = await verifier.readClaims(token).catch(undefinedIfRefused)
    const grant = await verifier.verify(token).catch(undefinedIfRefused)
    const isAllowed = client.mayIntrospect === true || claims?.client_id === client.clientId
    if (claims === undefined || grant === undefined || !isAllowed) {
      sendResult(response, { active: false })
      return
    }
    const { client_id, scope, iat, jti } = claims
    const { tenants, projects, models, origin } = grant
    const exp = Math.floor(grant.expiresAtMs / 1000)
    const rights = { tenants, projects, models }
    sendResult(response, {
      active: true,
      token_type: 'Bearer',
      client_id,
      sub: client_id,
      scope,
      iss,
      aud,
      iat,
      exp,
      jti,
      ...rights,
      ...(origin !== undefined && { origin }),
    })
  })

/**
 * `POST /connect/revocation` (RFC 7009): ends a token of the requesting client, and the sessions that use it. Succeeds
 * for an invalid or expired token, as the RFC requires. Never rejects.
 */
export const revocationEndpoint = (options: TokenStatusOptions): HttpEndpoint =>
  formEndpoint(options, async (request, response, form) => {
    const caller = await callerOf(options, request, form)
    if (caller === undefined) return
    const claims: TokenClaims | undefined = await options.verifier.readClaims(caller.token).catch(undefinedIfRefused)
    if (claims !== undefined && claims.client_id !== caller.client.clientId) {
      form.refuse({
        status: 400,
        error: 'unauthorized_client',
        description: 'the token was issued to another client',
      })
      return
    }
    try {
      if (claims !== undefined) await options.revocations.add(claims.jti)
    } catch (error) {
      if (!isSpeechError(error) || error.code !== 'overloaded') throw error
      sendError(response, 503, 'temporarily_unavailable', 'the revocation cannot be stored now; try again', {
        'Retry-After': spreadRetryAfter(5_000),
      })
      return
    }
    sendResult(response, {})
  })
