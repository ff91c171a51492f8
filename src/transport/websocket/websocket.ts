import IsomorphicWebSocket from 'isomorphic-ws'
import { throughProxy } from '../../proxy/proxy-agent.js'
import { proxyFor } from '../../proxy/proxy.js'
import { openBrowserSocket } from './browser-websocket.js'
import type { ClientRequest } from 'node:http'
import { brokenAfterTls, connectFailure } from '../connect-failure.js'
import { handshakeError } from './handshake-status.js'
import { NodeSocketLink } from './node-socket-link.js'
import { refusedHandshake, type UpgradeSocket } from './refused-handshake.js'
import type { SocketEvents } from './socket.js'
import { dialBy, peerName, type OpenSocket, type SocketClass } from './socket-dial.js'

export type { SocketClass, WebSocketDialOptions } from './socket-dial.js'

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
