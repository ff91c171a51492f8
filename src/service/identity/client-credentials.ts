import type { IncomingMessage } from 'node:http'

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
