import IsomorphicWebSocket from 'isomorphic-ws'
import { Observable, type SchedulerLike, type Subscriber } from 'rxjs'
import { SpeechError } from '../errors/speech-error.js'
import { connectFailure, connectTimeout } from './connect-failure.js'
import { handshakeError } from './handshake-status.js'
import { defaultConnectTimeoutMs, timeoutMs } from './limits.js'
import type { Dial, Link, SocketMessage } from './link.js'
import { refusedHandshake, type UpgradeSocket } from './refused-handshake.js'
import { isNodeSocket, type Socket } from './socket.js'
import { resolveWebSocketLimits, webSocketLink, type WebSocketLinkOptions } from './websocket-link.js'

/** A WebSocket class: the browser's, or the one of the package `ws`, which takes options of the connection as well. */
export type SocketClass = new (url: string, protocols?: string[], options?: object) => Socket

export interface WebSocketDialOptions extends WebSocketLinkOptions {
  /** `ws:` or `wss:`, with path and query; no fragment. */
  readonly url: string | URL
  /** Headers of the upgrade request. Not in the browser: `invalid-options`. */
  readonly headers?: Readonly<Record<string, string>>
  /** Subprotocols to offer; the service must choose one when any is given. */
  readonly protocols?: readonly string[]
  /** CA certificates in PEM, in place of the system's. Not in the browser: `invalid-options`. */
  readonly ca?: string | Uint8Array | readonly (string | Uint8Array)[]
  /** How long to wait for the open connection: name, TCP, TLS and upgrade together, in milliseconds. Default 10 000. */
  readonly connectTimeoutMs?: number
  /** Another WebSocket class than the platform's. */
  readonly WebSocket?: SocketClass
}

const parseUrl = (url: string | URL): URL => {
  if (!URL.canParse(String(url))) {
    throw new SpeechError('invalid-options', 'url is not a URL; give ws://host:port/path or wss://host/path.')
  }
  const parsed = new URL(url)
  if (parsed.protocol !== 'ws:' && parsed.protocol !== 'wss:') {
    throw new SpeechError('invalid-options', `url must begin with ws: or wss:, not ${parsed.protocol}`)
  }
  if (parsed.hash !== '') throw new SpeechError('invalid-options', 'url must not have a fragment.')
  return parsed
}

const peerName = ({ hostname, port, protocol }: URL): string =>
  `${hostname}:${port || (protocol === 'wss:' ? 443 : 80)}`

const openSocket = (url: URL, options: WebSocketDialOptions, maxPayload: number): Socket => {
  const SocketClass: SocketClass = options.WebSocket ?? IsomorphicWebSocket
  const protocols = [...(options.protocols ?? [])]
  if (!('terminate' in SocketClass.prototype)) {
    const refused = options.headers !== undefined ? 'headers' : options.ca !== undefined ? 'ca' : undefined
    if (refused !== undefined) {
      throw new SpeechError(
        'invalid-options',
        `${refused} cannot be given in the browser; present the token by subprotocol.`,
      )
    }
    return new SocketClass(url.href, protocols)
  }
  return new SocketClass(url.href, protocols, {
    // 245 kB a connection and 20 times the processor time, for audio that does not compress.
    perMessageDeflate: false,
    followRedirects: false,
    maxPayload,
    ...(options.headers && { headers: options.headers }),
    ...(options.ca && { ca: options.ca }),
  })
}

/** Emits the link when the socket opens, or the error that says why it did not; the returned teardown ends either. */
const connect = (
  subscriber: Subscriber<Link<SocketMessage, SocketMessage>>,
  options: WebSocketDialOptions,
): (() => void) => {
  const url = parseUrl(options.url)
  const peer = peerName(url)
  const connectTimeoutMs = timeoutMs('connectTimeoutMs', options.connectTimeoutMs ?? defaultConnectTimeoutMs)
  const limits = resolveWebSocketLimits(options)
  const scheduler: SchedulerLike = limits.scheduler
  let socket: Socket
  try {
    socket = openSocket(url, options, limits.maxMessageBytes)
  } catch (error) {
    if (error instanceof SpeechError) throw error
    throw new SpeechError('invalid-options', 'url, headers, protocols or ca cannot be used as they are.', {
      cause: error,
    })
  }
  let link: Link<SocketMessage, SocketMessage> | undefined
  const fail = (error: SpeechError): void => {
    if (link === undefined) subscriber.error(error)
  }
  const timer = scheduler.schedule(() => fail(connectTimeout(peer, connectTimeoutMs)), connectTimeoutMs)
  socket.addEventListener('open', () => {
    timer.unsubscribe()
    if (subscriber.closed) return
    link = webSocketLink(socket, limits)
    subscriber.next(link)
  })
  socket.addEventListener('error', ({ error }) => {
    if (isNodeSocket(socket)) fail(connectFailure(peer, error))
  })
  // A browser tells nothing but this, on purpose (WHATWG WebSockets, section 4).
  socket.addEventListener('close', () => fail(connectFailure(peer, undefined)))
  if (isNodeSocket(socket)) {
    refusedHandshake(socket as UpgradeSocket, (answer) => fail(handshakeError(peer, answer, scheduler.now())))
  }
  return () => {
    timer.unsubscribe()
    if (link !== undefined) link.close()
    else if (isNodeSocket(socket)) socket.terminate()
    else socket.close()
  }
}

/**
 * Connects to a WebSocket (RFC 6455): emits one open link and stays open until it is unsubscribed, which closes the link
 * in good order. The end of the link does not complete it. Redirects are not followed and nothing is compressed.
 *
 * Errors: `invalid-options`; `connection-failed` (refused, unknown name, TLS; the message names host and port);
 * `connect-timeout`; and what the service answers instead of opening: `unauthenticated` (401), `tenant-denied` (403),
 * `overloaded` (429, 503; `retryAfterMs` when it says so), `refused`, or the code that its text names.
 */
export const dialWebSocket = (options: WebSocketDialOptions): Dial<SocketMessage, SocketMessage> =>
  new Observable((subscriber) => connect(subscriber, options))
