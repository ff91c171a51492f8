import type { IncomingMessage, ServerResponse } from 'node:http'
import { isSpeechError } from '../../../errors/speech-error.js'
import { spreadRetryAfter } from '../../../protocol/retry-after.js'
import {
  answerTooMany,
  formEndpoint,
  type Form,
  type FormEndpointOptions,
  type HttpEndpoint,
} from '../http/form-endpoint.js'
import { answerError, answerJson, notStored } from '../http/responses.js'
import type { ClientAuthentication } from '../clients/client-authentication.js'
import type { Revocations } from './revocations.js'
import { isInForce, type Subscription, type SubscriptionStore } from '../clients/client.js'
import type { TokenClaims } from './token-claims.js'
import type { TokenVerifier } from './token-verifier.js'

export type PresentedCredentials =
  | { readonly type: 'given'; readonly clientId: string; readonly secret: string }
  /** More than one way, or a way that is not ours: `invalid_request`. */
  | { readonly type: 'malformed' }
  | { readonly type: 'none' }

/** Each half is form-encoded before it is put into base64 (RFC 6749 section 2.3.1). */
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

/** How a client says who it is: HTTP Basic or two fields of the form, never both. */
export const presentedCredentials = ({ headers }: IncomingMessage, fields: URLSearchParams): PresentedCredentials => {
  const [clientId, secret] = [fields.get('client_id'), fields.get('client_secret')]
  if (headers.authorization !== undefined) {
    const basic = fromBasic(headers.authorization)
    const isOther = basic.type === 'given' && clientId !== null && clientId !== basic.clientId
    return secret !== null || isOther ? { type: 'malformed' } : basic
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
  readonly subscriptions: SubscriptionStore
  readonly revocations: Pick<Revocations, 'add'>
  readonly verifier: TokenVerifier
  readonly now: () => number
}

interface Caller {
  readonly subscription: Subscription
  readonly token: string
}

/** What a refused token is; faults inside go on. */
const undefinedIfRefused = (error: unknown): undefined => {
  if (isSpeechError(error) && error.code === 'unauthenticated') return undefined
  throw error
}

/** The client of the request and the token that it is about; undefined when the request has been refused. */
const callerOf = async (
  options: TokenStatusOptions,
  request: IncomingMessage,
  response: ServerResponse,
  { fields, address }: Form,
): Promise<Caller | undefined> => {
  const { authentication, subscriptions, issuer, now, onRefusal } = options
  const refuse = (status: number, error: string, description: string): void => {
    onRefusal?.(error, address)
    const challenge = status === 401 ? { 'WWW-Authenticate': `Basic realm="${issuer}", error="${error}"` } : undefined
    answerError(response, status, error, description, challenge)
  }
  const token = fields.get('token')
  if (token === null || token === '') {
    refuse(400, 'invalid_request', 'token is missing')
    return
  }
  const credentials = presentedCredentials(request, fields)
  if (credentials.type === 'malformed') {
    refuse(400, 'invalid_request', 'client authentication must be given once, and well-formed')
    return
  }
  if (credentials.type === 'none') {
    refuse(401, 'invalid_client', 'client authentication is missing')
    return
  }
  const verdict = await authentication.authenticate(credentials.clientId, credentials.secret, address)
  if (verdict.type === 'wait') {
    onRefusal?.('too_many_attempts', address)
    answerTooMany(response, verdict.forMs)
    return undefined
  }
  const subscription = subscriptions.find(credentials.clientId)
  if (verdict.type === 'rejected' || subscription === undefined) {
    refuse(401, 'invalid_client', 'client authentication failed')
    return
  }
  if (!isInForce(subscription, now())) {
    refuse(400, 'unauthorized_client', 'the subscription has expired or was cancelled')
    return
  }
  return { subscription, token }
}

const answer = (response: ServerResponse, body: object): void => answerJson(response, 200, body, notStored)

/**
 * `POST /connect/introspect` (RFC 7662): what a token allows, now. A client may ask about its own tokens, a subscription
 * with `mayIntrospect` about all; about any other it hears what it hears of a token that is none. Never rejects.
 *
 * The provider's own endpoint knows only tokens that it keeps, and ours are signed and kept nowhere.
 */
export const introspectionEndpoint = (options: TokenStatusOptions): HttpEndpoint =>
  formEndpoint(options, async (request, response, form) => {
    const caller = await callerOf(options, request, response, form)
    if (caller === undefined) return
    const { subscription, token } = caller
    const { verifier, issuer: iss, audience: aud } = options
    const claims = await verifier.readClaims(token).catch(undefinedIfRefused)
    const grant = await verifier.verify(token).catch(undefinedIfRefused)
    const isAllowed = subscription.mayIntrospect === true || claims?.client_id === subscription.clientId
    if (claims === undefined || grant === undefined || !isAllowed) {
      answer(response, { active: false })
      return
    }
    const { client_id, scope, iat, jti } = claims
    const { tenants, projects, models } = grant
    const exp = Math.floor(grant.expiresAtMs / 1000)
    const rights = { tenants, projects, models }
    answer(response, {
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
    })
  })

/**
 * `POST /connect/revocation` (RFC 7009): ends a token of the client that asks, and the sessions that run with it. A token
 * that is none, or has ended, is as revoked as it can be. Never rejects.
 */
export const revocationEndpoint = (options: TokenStatusOptions): HttpEndpoint =>
  formEndpoint(options, async (request, response, form) => {
    const caller = await callerOf(options, request, response, form)
    if (caller === undefined) return
    const claims: TokenClaims | undefined = await options.verifier.readClaims(caller.token).catch(undefinedIfRefused)
    if (claims !== undefined && claims.client_id !== caller.subscription.clientId) {
      options.onRefusal?.('unauthorized_client', form.address)
      answerError(response, 400, 'unauthorized_client', 'the token was issued to another client')
      return
    }
    try {
      if (claims !== undefined) await options.revocations.add(claims.jti)
    } catch (error) {
      if (!isSpeechError(error) || error.code !== 'overloaded') throw error
      answerError(response, 503, 'temporarily_unavailable', 'it cannot be kept now; try again', {
        'Retry-After': spreadRetryAfter(5_000),
      })
      return
    }
    answer(response, {})
  })
