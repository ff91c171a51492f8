import IsomorphicWebSocket from 'isomorphic-ws'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { isSpeechError } from '../../errors/speech-error.js'
import { connectThrough } from '../../proxy/connect.js'
import { proxyFor } from '../../proxy/proxy.js'
import { brokenAfterTls, connectFailure } from '../../errors/connection-errors.js'
import { openBrowserSocket } from './browser-client.js'
import { type HandshakeAnswer, handshakeError } from './errors.js'
import { NodeSocketLink } from './node-link.js'
import { recordOf } from '../../protocol/collections.js'
import { checkOptions, optionsOf, text } from '../../protocol/validation.js'
import { dialBy, type OpenSocket, peerName, type SocketClass, type WebSocketDialOptions } from './dial.js'
import type { NodeSocket, NodeSocketEvents } from './node-socket.js'
import type { SocketEvents } from './socket.js'

export type { SocketClass, WebSocketDialOptions } from './dial.js'

const headersOption = optionsOf<Pick<WebSocketDialOptions, 'headers'>>()({}, { headers: recordOf(text) })

/** By the package `ws`, or by the class of the options, which may be a standard one. */
const openNodeSocket: OpenSocket = (url, options, limits, fail) => {
  const SocketClass: SocketClass = options.WebSocket ?? IsomorphicWebSocket
  if (!('terminate' in SocketClass.prototype)) return openBrowserSocket(url, options, limits, fail)
  checkOptions(headersOption, { headers: options.headers })
  const peer = peerName(url)
  let isSecured = false
  const proxy = proxyFor(url, options.proxy)
  const ending = new AbortController()
  const socket = new SocketClass(url.href, [...(options.protocols ?? [])], {
    // Compression costs 245 kB per connection and 20 times the CPU, and audio does not compress.
    perMessageDeflate: false,
    followRedirects: false,
    maxPayload: limits.maxMessageBytes,
    finishRequest: (request: ClientRequest) => {
      if (url.protocol === 'wss:') {
        request.once('socket', (connection) => connection.once('secureConnect', () => (isSecured = true)))
      }
      request.end()
    },
    ...(options.headers && { headers: options.headers }),
    ...(options.ca && { ca: options.ca }),
    ...(proxy && { createConnection: connectThrough(proxy, url.protocol === 'wss:', ending.signal) }),
  }) as UpgradeSocket
  const failed = ({ error }: SocketEvents['error']): void =>
    fail(
      isSpeechError(error)
        ? error
        : ((isSecured ? brokenAfterTls(peer, error) : undefined) ?? connectFailure(peer, error)),
    )
  socket.addEventListener('error', failed)
  refusedHandshake(socket, (answer) => fail(handshakeError(peer, answer, limits.scheduler.now())))
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
 * Connects to a WebSocket (RFC 6455): emits one open link and stays open until it is unsubscribed, which closes the
 * link normally. The end of the link does not complete it. Redirects are not followed and nothing is compressed.
 *
 * Errors: `invalid-options`; `connection-failed` (refused, unknown name, TLS; the message names host and port);
 * `connect-timeout`; `connection-lost` for a peer that drops the connection after TLS, and for 502 and 504; and for a
 * refused handshake `unauthenticated` (401), `tenant-denied` (403), `overloaded` (429, 503; with `retryAfterMs` if the
 * service sends it), `refused`, or the code in its text.
 */
export const dialWebSocket = dialBy(openNodeSocket)

/** Enough for `<code>: <sentence>`; a longer page of a proxy is not read to its end. */
const maxTextBytes = 2048

interface UpgradeEvents extends NodeSocketEvents {
  'unexpected-response': [request: unknown, response: IncomingMessage]
}

export interface UpgradeSocket extends NodeSocket {
  on<K extends keyof UpgradeEvents>(event: K, listener: (...parameters: UpgradeEvents[K]) => void): unknown
  removeAllListeners(event: 'unexpected-response'): unknown
}

/** Calls back once, with the status and the beginning of the body, if the service refuses the handshake. */
export const refusedHandshake = (socket: UpgradeSocket, refused: (answer: HandshakeAnswer) => void): void => {
  socket.on('unexpected-response', (_request, response) => {
    let body = ''
    const report = (): void => {
      response.removeAllListeners()
      response.on('error', () => {})
      const text = body.slice(0, maxTextBytes)
      refused({ status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'], text })
    }
    response.setEncoding('utf8')
    response.on('data', (part: string) => {
      body += part
      if (body.length >= maxTextBytes) report()
    })
    response.once('end', report)
    response.once('close', report)
    response.once('error', report)
  })
}
