import type { IncomingMessage } from 'node:http'

/** Where a token stood on an upgrade request; a browser can only name it among the subprotocols. */
export interface PresentedToken {
  readonly token: string
  readonly by: 'header' | 'subprotocol' | 'query'
}

/** The subprotocol that is spoken, and that of the token beside it (decisions.md: token on the socket). */
export const subprotocol = 'rxspeech'
const tokenPrefix = 'bearer.'

/**
 * The value of an `Authorization` header: `Bearer` (RFC 6750 section 2.1, in any letter case) and the token, or the token alone, as some
 * clients of such services send it (docs/PROTOCOL.md 4.1). A scheme without a token is none.
 */
const headerToken = /^(?:Bearer +)?(?!Bearer *$)([\w.~+/=-]+) *$/i

/** The token of an upgrade request, if it has one. */
export const bearerToken = (request: IncomingMessage, url: URL, allowQuery: boolean): PresentedToken | undefined => {
  const [, fromHeader] = headerToken.exec(request.headers.authorization ?? '') ?? []
  if (fromHeader !== undefined) return { token: fromHeader, by: 'header' }
  const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((one) => one.trim())
  const named = offered.find((one) => one.startsWith(tokenPrefix))
  if (named !== undefined) return { token: named.slice(tokenPrefix.length), by: 'subprotocol' }
  const fromQuery = allowQuery ? url.searchParams.get('access_token') : null
  return fromQuery === null ? undefined : { token: fromQuery, by: 'query' }
}
