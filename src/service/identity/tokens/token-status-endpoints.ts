import type { IncomingMessage, ServerResponse } from 'node:http'
import { isSpeechError } from '../../../errors/speech-error.js'
import { spreadRetryAfter } from '../../../protocol/retry-after.js'
import type { ClientAuthentication } from '../clients/client-authentication.js'
import { isInForce, type ClientRegistration, type ClientStore } from '../clients/client.js'
import { formEndpoint, type Form, type FormEndpointOptions, type HttpEndpoint } from '../http/form-endpoint.js'
import { noStoreHeaders, sendError, sendJson, sendTooManyAttempts } from '../http/responses.js'
import type { Revocations } from './revocations.js'
import type { TokenClaims } from './token-claims.js'
import type { TokenVerifier } from './token-verifier.js'

type PresentedCredentials =
  | { readonly type: 'given'; readonly clientId: string; readonly secret: string }
  /** More than one method, or an unknown one: `invalid_request`. */
  | { readonly type: 'malformed' }
  | { readonly type: 'none' }

/** Id and secret are form-encoded before base64 (RFC 6749 section 2.3.1). */
const decodeHalf = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text.replace(/\+/g, '%20'))
  } catch {
    return undefined
  }
}

const fromBasic = (header: string): PresentedCredentials => {
  const [, base64] = /^Basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(header) ?? []
  if (base64 === undefined) return { type: 'malformed' }
  const text = Buffer.from(base64, 'base64').toString()
  const colon = text.indexOf(':')
  const clientId = decodeHalf(text.slice(0, Math.max(colon, 0)))
  const secret = decodeHalf(text.slice(colon + 1))
  if (colon < 1 || clientId === undefined || secret === undefined) return { type: 'malformed' }
  return { type: 'given', clientId, secret }
}

/** The credentials from HTTP Basic or from two fields of the form, never from both. */
const presentedCredentials = ({ headers }: IncomingMessage, fields: URLSearchParams): PresentedCredentials => {
  const [clientId, secret] = [fields.get('client_id'), fields.get('client_secret')]
  if (headers.authorization !== undefined) {
    const basic = fromBasic(headers.authorization)
    const isContradiction = basic.type === 'given' && clientId !== null && clientId !== basic.clientId
    return secret !== null || isContradiction ? { type: 'malformed' } : basic
  }
  if (clientId === null || clientId === '') return { type: 'none' }
  return { type: 'given', clientId, secret: secret ?? '' }
}

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

/** Turns a refused token into undefined; rethrows internal errors. */
const undefinedIfRefused = (error: unknown): undefined => {
  if (isSpeechError(error) && error.code === 'unauthenticated') return undefined
  throw error
}

/** The client of the request and the token that it names; undefined when the request was refused. */
const callerOf = async (
  options: TokenStatusOptions,
  request: IncomingMessage,
  response: ServerResponse,
  { fields, address }: Form,
): Promise<Caller | undefined> => {
  const { authentication, clients, issuer, now, onRefusal } = options
  const refuse = (status: number, error: string, description: string): void => {
    onRefusal?.(error, address)
    const challenge = status === 401 ? { 'WWW-Authenticate': `Basic realm="${issuer}", error="${error}"` } : undefined
    sendError(response, status, error, description, challenge)
  }
  const token = fields.get('token')
  if (token === null || token === '') {
    refuse(400, 'invalid_request', 'token is missing')
    return
  }
  const credentials = presentedCredentials(request, fields)
  if (credentials.type === 'malformed') {
    refuse(400, 'invalid_request', 'client authentication must be present once, and well-formed')
    return
  }
  if (credentials.type === 'none') {
    refuse(401, 'invalid_client', 'client authentication is missing')
    return
  }
  const result = await authentication.authenticate(credentials.clientId, credentials.secret, address)
  if (result.type === 'wait') {
    onRefusal?.('too_many_attempts', address)
    sendTooManyAttempts(response, result.forMs)
    return undefined
  }
  const client = clients.find(credentials.clientId)
  if (result.type === 'rejected' || client === undefined) {
    refuse(401, 'invalid_client', 'client authentication failed')
    return
  }
  if (!isInForce(client, now())) {
    refuse(400, 'unauthorized_client', 'the subscription has expired or was cancelled')
    return
  }
  return { client, token }
}

const sendResult = (response: ServerResponse, body: object): void => sendJson(response, 200, body, noStoreHeaders)

/**
 * `POST /connect/introspect` (RFC 7662): what a token allows now. A client can introspect its own tokens, and one with
 * `mayIntrospect` all tokens; any other token is reported as inactive, like an invalid one. Never rejects.
 *
 * The endpoint of oidc-provider knows only tokens that it stores; these tokens are signed and stored nowhere.
 */
export const introspectionEndpoint = (options: TokenStatusOptions): HttpEndpoint =>
  formEndpoint(options, async (request, response, form) => {
    const caller = await callerOf(options, request, response, form)
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
 * `POST /connect/revocation` (RFC 7009): ends a token of the requesting client, and the sessions that use it. Succeeds for
 * an invalid or expired token, as the RFC requires. Never rejects.
 */
export const revocationEndpoint = (options: TokenStatusOptions): HttpEndpoint =>
  formEndpoint(options, async (request, response, form) => {
    const caller = await callerOf(options, request, response, form)
    if (caller === undefined) return
    const claims: TokenClaims | undefined = await options.verifier.readClaims(caller.token).catch(undefinedIfRefused)
    if (claims !== undefined && claims.client_id !== caller.client.clientId) {
      options.onRefusal?.('unauthorized_client', form.address)
      sendError(response, 400, 'unauthorized_client', 'the token was issued to another client')
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
