import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { errorTable } from 'rxspeech/internal/errors/error-table'
import { refusalText } from 'rxspeech/internal/errors/refusal'
import type { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { spreadRetryAfter } from 'rxspeech/internal/protocol/retry-after'

/** The token of an upgrade request, and where it was found; a browser can send it only as a subprotocol (PROTOCOL 4.1). */
export interface PresentedToken {
  readonly token: string
  readonly by: 'header' | 'subprotocol' | 'query'
}

/** The subprotocol of the service; a browser offers a second one that carries the token. */
export const subprotocol = 'rxspeech'
const tokenPrefix = 'bearer.'

/**
 * The value of an `Authorization` header: `Bearer` in any letter case and the token (RFC 6750 section 2.1), or the
 * token alone, as some clients send it (PROTOCOL 4.1). A scheme alone is not a token.
 */
const headerToken = /^(?:Bearer +)?(?!Bearer *$)([\w.~+/=-]+) *$/i

/** The token of an upgrade request, if it has one. */
export const bearerToken = (request: IncomingMessage, url: URL, allowQuery: boolean): PresentedToken | undefined => {
  const [, fromHeader] = headerToken.exec(request.headers.authorization ?? '') ?? []
  if (fromHeader !== undefined) return { token: fromHeader, by: 'header' }
  const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim())
  const named = offered.find((name) => name.startsWith(tokenPrefix))
  if (named !== undefined) return { token: named.slice(tokenPrefix.length), by: 'subprotocol' }
  const fromQuery = allowQuery ? url.searchParams.get('access_token') : null
  return fromQuery === null ? undefined : { token: fromQuery, by: 'query' }
}

/**
 * The token of a request of a dialect: `Authorization` with `Bearer`, `Token` or neither, or the subprotocol behind the
 * one that a browser or a client without headers offers first.
 */
export const dialectToken = ({ headers }: IncomingMessage): string | undefined => {
  const [, fromHeader] = dialectHeader.exec(headers.authorization ?? '') ?? []
  if (fromHeader !== undefined) return fromHeader
  const [first = '', second = ''] = (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim())
  const prefix = keyPrefixes.get(first)
  return prefix !== undefined && second.length > prefix.length && second.startsWith(prefix)
    ? second.slice(prefix.length)
    : undefined
}

const dialectHeader = /^(?:(?:Bearer|Token) +)?(?!(?:Bearer|Token) *$)([\w.~+/=-]+) *$/i

/** The subprotocols that announce a token, and what precedes it in the next one. */
const keyPrefixes: ReadonlyMap<string, string> = new Map([
  ['realtime', 'openai-insecure-api-key.'],
  ['token', ''],
  ['bearer', ''],
])

/** The subprotocol that an upgrade of a dialect selects: the first one, which is never the token. */
export const dialectSubprotocol = (offered: ReadonlySet<string>): string | false => {
  const [first = ''] = offered
  return keyPrefixes.has(first) && first
}

/** The URL of a request; only its path and its query are used, and with this host any of them can be parsed. */
export const urlOf = ({ url = '' }: IncomingMessage): URL | undefined =>
  url.startsWith('/') ? new URL(`http://service${url}`) : undefined

const statuses: Readonly<Record<number, number>> = { 4401: 401, 4403: 403, 4429: 429, 1001: 503 }

/** The HTTP status that corresponds to the close code of the error. */
export const httpStatus = ({ code }: SpeechError): number => statuses[errorTable[code].closeCode] ?? 500

/** Browsers take an answer for what its header says, and not for what its text looks like. */
export const noSniff = 'X-Content-Type-Options: nosniff'

/** An answer that refuses a request. */
export interface HttpRefusal {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Answers an upgrade request with an HTTP status and `<code>: <sentence>`. */
export const refuseUpgrade = (socket: Duplex, error: SpeechError, status: number = httpStatus(error)): void =>
  answerUpgrade(socket, {
    status,
    headers: {
      'Content-Type': 'text/plain; charset=utf-8',
      ...(status === 401 && { 'WWW-Authenticate': 'Bearer' }),
      ...((status === 429 || status === 503) && { 'Retry-After': spreadRetryAfter(error.retryAfterMs) }),
    },
    body: refusalText(error),
  })

/** Answers an upgrade request, and closes its connection. */
export const answerUpgrade = (socket: Duplex, { status, headers, body }: HttpRefusal): void => {
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    noSniff,
    'Cache-Control: no-store',
    'Connection: close',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ]
  // The client might never close the connection, and there is no other deadline.
  socket.once('finish', () => socket.destroy())
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`)
}
