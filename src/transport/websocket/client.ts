import IsomorphicWebSocket from 'isomorphic-ws'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { throughProxy } from '../../proxy/connect.js'
import { proxyFor } from '../../proxy/proxy.js'
import { brokenAfterTls, connectFailure } from '../connection-errors.js'
import { openBrowserSocket } from './browser-client.js'
import { type HandshakeAnswer, handshakeError } from './errors.js'
import { NodeSocketLink } from './node-link.js'
import { dialBy, type OpenSocket, peerName, type SocketClass } from './dial.js'
import type { NodeSocket, SocketEvents } from './socket.js'

export type { SocketClass, WebSocketDialOptions } from './dial.js'

/** The package `ws`, or another class that is given, be it one of the standard. */
const openNodeSocket: OpenSocket = (url, options, limits, fail) => {
  const SocketClass: SocketClass = options.WebSocket ?? IsomorphicWebSocket
  if (!('terminate' in SocketClass.prototype)) return openBrowserSocket(url, options, limits, fail)
  const peer = peerName(url)
  let isSecured = false
  const proxy = proxyFor(url, options.proxy)
  const ending = new AbortController()
  const attempt = proxy && throughProxy(proxy, ending.signal)
  const socket = new SocketClass(url.href, [...(options.protocols ?? [])], {
    // 245 kB a connection and 20 times the processor time, for audio that does not compress.
    perMessageDeflate: false,
    followRedirects: false,
    maxPayload: limits.maxMessageBytes,
    finishRequest: (request: ClientRequest) => {
      request.once('socket', (connection) => connection.once('secureConnect', () => (isSecured = true)))
      request.end()
    },
    ...(options.headers && { headers: options.headers }),
    ...(options.ca && { ca: options.ca }),
    ...(attempt && { agent: attempt.agent }),
  }) as UpgradeSocket
  const failed = ({ error }: SocketEvents['error']): void =>
    fail(
      attempt?.failure(peer, error) ??
        (isSecured ? brokenAfterTls(peer, error) : undefined) ??
        connectFailure(peer, error),
    )
  socket.addEventListener('error', failed)
  refusedHandshake(socket, (answer) =>
    fail(attempt?.refusal(peer) ?? handshakeError(peer, answer, limits.scheduler.now())),
  )
  const link = (): NodeSocketLink => {
    const opened = new NodeSocketLink(socket, limits)
    socket.removeEventListener?.('error', failed)
    socket.removeAllListeners('unexpected-response')
    return opened
  }
  const abandon = (): void => {
    socket.terminate()
    ending.abort()
  }
  return { socket, link, abandon }
}

/**
 * Connects to a WebSocket (RFC 6455): emits one open link and stays open until it is unsubscribed, which closes the link
 * in good order. The end of the link does not complete it. Redirects are not followed and nothing is compressed.
 *
 * Errors: `invalid-options`; `connection-failed` (refused, unknown name, TLS; the message names host and port);
 * `connect-timeout`; `connection-lost` for a peer that breaks off after TLS, and for 502 and 504; and what the service answers instead of opening: `unauthenticated` (401), `tenant-denied` (403),
 * `overloaded` (429, 503; `retryAfterMs` when it says so), `refused`, or the code that its text names.
 */
export const dialWebSocket = dialBy(openNodeSocket)

/** Enough for `<code>: <sentence>`; an HTML page of a proxy is not read to its end. */
const maxTextBytes = 2048

export interface UpgradeSocket extends NodeSocket {
  on(event: 'pong', listener: () => void): unknown
  on(event: 'protocol-error', listener: (closeCode: number, close: () => void) => void): unknown
  on(event: 'unexpected-response', listener: (request: unknown, response: IncomingMessage) => void): unknown
  removeAllListeners(event: 'unexpected-response'): unknown
}

/** Calls back with what the service answered when that is not the switch of protocols, once, with the beginning of its body. */
export const refusedHandshake = (socket: UpgradeSocket, refused: (answer: HandshakeAnswer) => void): void => {
  socket.on('unexpected-response', (_request, response) => {
    let body = ''
    const tell = (): void => {
      response.removeAllListeners()
      response.on('error', () => {})
      const text = body.slice(0, maxTextBytes)
      refused({ status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'], text })
    }
    response.setEncoding('utf8')
    response.on('data', (part: string) => {
      body += part
      if (body.length >= maxTextBytes) tell()
    })
    response.once('end', tell)
    response.once('close', tell)
    response.once('error', tell)
  })
}
