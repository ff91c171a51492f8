import type { IncomingMessage } from 'node:http'

/** Where a token stood on an upgrade request; a browser can only name it among the subprotocols. */
export interface PresentedToken {
  readonly token: string
  readonly by: 'header' | 'subprotocol' | 'query'
}

/** The subprotocol that is spoken, and that of the token beside it (decisions.md: token on the socket). */
export const subprotocol = 'rxspeech'
const tokenPrefix = 'bearer.'

/** The token of an upgrade request (RFC 6750 section 2.1), if it has one. */
export const bearerToken = (request: IncomingMessage, url: URL, allowQuery: boolean): PresentedToken | undefined => {
  const [, fromHeader] = /^Bearer +([\w.~+/=-]+) *$/i.exec(request.headers.authorization ?? '') ?? []
  if (fromHeader !== undefined) return { token: fromHeader, by: 'header' }
  const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((one) => one.trim())
  const named = offered.find((one) => one.startsWith(tokenPrefix))
  if (named !== undefined) return { token: named.slice(tokenPrefix.length), by: 'subprotocol' }
  const fromQuery = allowQuery ? url.searchParams.get('access_token') : null
  return fromQuery === null ? undefined : { token: fromQuery, by: 'query' }
}
