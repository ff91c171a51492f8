import type { IncomingMessage } from 'node:http'
import type { ClientAuthentication } from '../clients/client-authentication.js'
import type { ClientRegistration, ClientStore } from '../clients/client.js'
import type { Form } from '../http/form-endpoint.js'
import type { Refusal } from '../http/responses.js'

export interface AuthenticateClientOptions {
  readonly issuer: string
  readonly authentication: ClientAuthentication
  readonly clients: ClientStore
}

/**
 * The client that a form authenticates (RFC 6749 section 2.3.1); undefined when the request was refused.
 *
 * @param missing the refusal of a form without a client
 */
export const authenticateClient = async (
  { issuer, authentication, clients }: AuthenticateClientOptions,
  request: IncomingMessage,
  { fields, address, refuse, refuseForNow }: Form,
  missing: Refusal,
): Promise<ClientRegistration | undefined> => {
  // RFC 9110 section 15.5.2 requires a challenge on every 401.
  const challenge = { 'WWW-Authenticate': `Basic realm="${issuer}", error="invalid_client"` }
  const credentials = presentedCredentials(request, fields)
  if (credentials.type === 'none') {
    refuse(missing, missing.status === 401 ? challenge : undefined)
    return undefined
  }
  if (credentials.type === 'malformed') {
    const description = 'client authentication must be present once, and well-formed'
    refuse({ status: 400, error: 'invalid_request', description })
    return undefined
  }
  const result = await authentication.authenticate(credentials.clientId, credentials.secret, address)
  if (result.type === 'wait') {
    refuseForNow(result.forMs)
    return undefined
  }
  const client = result.type === 'accepted' ? clients.find(credentials.clientId) : undefined
  if (client === undefined) {
    refuse({ status: 401, error: 'invalid_client', description: 'client authentication failed' }, challenge)
  }
  return client
}

/** The refusal of an authenticated client that is not in force. */
export const subscriptionOver: Refusal = {
  status: 400,
  error: 'unauthorized_client',
  description: 'the subscription has expired or was cancelled',
}

type PresentedCredentials =
  | { readonly type: 'given'; readonly clientId: string; readonly secret: string }
  /** More than one method, or an unknown one. */
  | { readonly type: 'malformed' }
  | { readonly type: 'none' }

/** The credentials from HTTP Basic or from two fields of the form, never from both. */
const presentedCredentials = ({ headers }: IncomingMessage, fields: URLSearchParams): PresentedCredentials => {
  const [clientId, secret] = [valueOf(fields, 'client_id'), valueOf(fields, 'client_secret')]
  if (headers.authorization !== undefined) {
    const basic = fromBasic(headers.authorization)
    const isContradiction = basic.type === 'given' && clientId !== undefined && clientId !== basic.clientId
    return secret !== undefined || isContradiction ? { type: 'malformed' } : basic
  }
  if (clientId === undefined) return { type: 'none' }
  return { type: 'given', clientId, secret: secret ?? '' }
}

/** A parameter without a value counts as omitted (RFC 6749 section 3.2). */
const valueOf = (fields: URLSearchParams, name: string): string | undefined => {
  const value = fields.get(name)
  return value === null || value === '' ? undefined : value
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

/** Id and secret are form-encoded before base64 (RFC 6749 section 2.3.1). */
const decodeHalf = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text.replace(/\+/g, '%20'))
  } catch {
    return undefined
  }
}
