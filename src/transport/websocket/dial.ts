import { Observable, type Subscriber, type Unsubscribable } from 'rxjs'
import { SpeechError } from '../../errors/speech-error.js'
import { schedule } from '../../kernel/timers.js'
import { connectTimeout, noConnection } from '../../errors/connection-errors.js'
import { defaultConnectTimeoutMs, defaultDialCloseTimeoutMs, type ConnectionOptions } from '../limits.js'
import { listOf } from '../../protocol/collections.js'
import { anything, checkOptions, durationMs, functionValue, oneOf, optionsOf, text } from '../../protocol/validation.js'
import type { Dial, Link, SocketMessage } from '../link.js'
import {
  type Socket,
  resolveWebSocketLimits,
  webSocketLinkCodecs,
  type WebSocketLimits,
  type WebSocketLinkOptions,
} from './socket.js'

/** A WebSocket class: the browser's, or that of the package `ws`, which also accepts options of the connection. */
export type SocketClass = new (url: string, protocols?: string[], options?: object) => Socket

/** Where and how a WebSocket is opened, and the limits of its link. */
export interface WebSocketDialOptions extends WebSocketLinkOptions, Pick<ConnectionOptions, 'ca' | 'proxy'> {
  /** `ws:` or `wss:`, with path and query; no fragment. */
  readonly url: string | URL
  /** Headers of the upgrade request. Not in the browser: `invalid-options`. @default {} */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Subprotocols to offer; the service must choose one when any is given. @default [] */
  readonly protocols?: readonly string[] | undefined
  /** How long the connection may take, in milliseconds: name, TCP, TLS and upgrade together. @default 10_000 */
  readonly connectTimeoutMs?: number | undefined
  /** The channel of a stereo recording that the connection is for. It is not sent. @default none */
  readonly channel?: 0 | 1 | undefined
  /**
   * A WebSocket class that replaces that of the platform.
   * @default the package `ws` in Node, the global class in a browser
   */
  readonly WebSocket?: SocketClass | undefined
}

const webSocketDialOptions = /* @__PURE__ */ optionsOf<WebSocketDialOptions>()(
  { url: anything },
  {
    ...webSocketLinkCodecs,
    // Checked by the platform that has them.
    headers: anything,
    protocols: listOf(text),
    ca: anything,
    proxy: anything,
    connectTimeoutMs: durationMs(1),
    channel: oneOf(0, 1),
    WebSocket: functionValue,
  },
)

interface ConnectionAttempt {
  readonly socket: Socket
  /** The link over the socket; call it in the turn in which the socket opens. */
  readonly link: () => Link<SocketMessage, SocketMessage>
  /** Ends an attempt whose socket is not open yet. */
  readonly abandon: () => void
}

/** Starts to connect, by the WebSocket of a platform; throws for options that it cannot use. */
export type OpenSocket = (
  url: URL,
  options: WebSocketDialOptions,
  limits: WebSocketLimits,
  /** Reports a failure if the platform knows more than that the socket closed. */
  fail: (error: SpeechError) => void,
) => ConnectionAttempt

const parseUrl = (url: string | URL): URL => {
  const parsed = URL.canParse(String(url)) ? new URL(url) : undefined
  if (parsed !== undefined && /^wss?:$/.test(parsed.protocol) && parsed.hash === '') return parsed
  throw new SpeechError('invalid-options', 'url must be ws://host:port/path or wss://host/path, without a fragment.')
}

export const peerName = ({ hostname, port, protocol }: URL): string =>
  `${hostname}:${port || (protocol === 'wss:' ? 443 : 80)}`

/** Emits the link when the socket opens, or the error; unsubscribing ends the attempt or the link. */
class Connecting implements Unsubscribable {
  readonly #subscriber: Subscriber<Link<SocketMessage, SocketMessage>>
  #timer: Unsubscribable | undefined
  /** Only until the socket is open, so that nothing but the link stays in memory. */
  #attempt: ConnectionAttempt | undefined
  #link: Link<SocketMessage, SocketMessage> | undefined

  constructor(
    open: OpenSocket,
    options: WebSocketDialOptions,
    subscriber: Subscriber<Link<SocketMessage, SocketMessage>>,
  ) {
    checkOptions(webSocketDialOptions, options)
    const url = parseUrl(options.url)
    const peer = peerName(url)
    const { connectTimeoutMs = defaultConnectTimeoutMs, closeTimeoutMs = defaultDialCloseTimeoutMs } = options
    const limits = resolveWebSocketLimits({ ...options, closeTimeoutMs })
    const fail = (error: SpeechError): void => this.#fail(error)
    const attempt = startAttempt(() => open(url, options, limits, fail))
    // Browsers deliberately report no more than this (WHATWG WebSockets, section 4), not even for a certificate.
    const hint = url.protocol === 'wss:' ? `; open https://${peer} to see whether its certificate is trusted` : ''
    const closed = (): void => fail(noConnection(peer, undefined, hint))
    this.#subscriber = subscriber
    this.#attempt = attempt
    const late = (): void => fail(connectTimeout(peer, connectTimeoutMs))
    this.#timer = schedule(limits.scheduler, connectTimeoutMs, late, { ref: true })
    attempt.socket.addEventListener('close', closed)
    attempt.socket.addEventListener(
      'open',
      () => {
        attempt.socket.removeEventListener?.('close', closed)
        this.#opened(attempt)
      },
      { once: true },
    )
  }

  unsubscribe(): void {
    this.#timer?.unsubscribe()
    this.#attempt?.abandon()
    this.#link?.close()
  }

  #opened(attempt: ConnectionAttempt): void {
    this.#timer?.unsubscribe()
    this.#timer = undefined
    if (this.#subscriber.closed) return
    this.#attempt = undefined
    this.#link = attempt.link()
    this.#subscriber.next(this.#link)
  }

  #fail(error: SpeechError): void {
    if (this.#link === undefined) this.#subscriber.error(error)
  }
}

const startAttempt = (open: () => ConnectionAttempt): ConnectionAttempt => {
  try {
    return open()
  } catch (cause) {
    throw cause instanceof SpeechError
      ? cause
      : new SpeechError('invalid-options', 'url, headers, protocols or ca cannot be used as they are.', { cause })
  }
}

/** The dial of a platform; see `dialWebSocket`. */
export const dialBy =
  (open: OpenSocket) =>
  (options: WebSocketDialOptions): Dial<SocketMessage, SocketMessage> =>
    new Observable((subscriber) => {
      subscriber.add(new Connecting(open, options, subscriber))
    })
