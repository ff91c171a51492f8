import { Observable, type Subscriber, type Unsubscribable } from 'rxjs'
import { SpeechError } from '../../errors/speech-error.js'
import type { ProxyOption } from '../../protocol/proxy-option.js'
import { schedule } from '../../kernel/timers.js'
import { connectTimeout, noConnection } from '../connection-errors.js'
import { defaultConnectTimeoutMs, defaultDialCloseTimeoutMs } from '../limits.js'
import { checkOption, durationMs } from '../../protocol/validation.js'
import type { Dial, Link, SocketMessage } from '../link.js'
import { type Socket, resolveWebSocketLimits, type WebSocketLimits, type WebSocketLinkOptions } from './socket.js'

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
  /**
   * The HTTP proxy to go through, such as `http://user:password@proxy.example.com:3128`; `false` for none. Not in the
   * browser: `invalid-options`. Default: what `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` of the environment say.
   */
  readonly proxy?: ProxyOption
  /** How long to wait for the open connection: name, TCP, TLS and upgrade together, in milliseconds. Default 10 000. */
  readonly connectTimeoutMs?: number
  /** The channel that the connection is for, where a stereo recording has one for each. Nothing on the wire says it. */
  readonly channel?: 0 | 1
  /** Another WebSocket class than the platform's. */
  readonly WebSocket?: SocketClass
}

/** An attempt to connect. */
export interface Opening {
  readonly socket: Socket
  /** Over the socket, in the turn in which it opens. */
  readonly link: () => Link<SocketMessage, SocketMessage>
  /** Ends an attempt that has not opened. */
  readonly abandon: () => void
}

/** What differs between the platforms: begins to connect, and throws what cannot be used. */
export type OpenSocket = (
  url: URL,
  options: WebSocketDialOptions,
  limits: WebSocketLimits,
  /** Where the platform can say more of a failure than that the socket has closed. */
  fail: (error: SpeechError) => void,
) => Opening

const parseUrl = (url: string | URL): URL => {
  const parsed = URL.canParse(String(url)) ? new URL(url) : undefined
  if (parsed !== undefined && /^wss?:$/.test(parsed.protocol) && parsed.hash === '') return parsed
  throw new SpeechError('invalid-options', 'url must be ws://host:port/path or wss://host/path, without a fragment.')
}

export const peerName = ({ hostname, port, protocol }: URL): string =>
  `${hostname}:${port || (protocol === 'wss:' ? 443 : 80)}`

/** Emits the link when the socket opens, or the error that says why it did not; `end` ends either. */
class Connecting {
  readonly #subscriber: Subscriber<Link<SocketMessage, SocketMessage>>
  #timer: Unsubscribable | undefined
  /** Until it has opened; from then on nothing of it is kept but the link. */
  #opening: Opening | undefined
  #link: Link<SocketMessage, SocketMessage> | undefined

  constructor(
    open: OpenSocket,
    options: WebSocketDialOptions,
    subscriber: Subscriber<Link<SocketMessage, SocketMessage>>,
  ) {
    const url = parseUrl(options.url)
    const peer = peerName(url)
    const connectTimeoutMs = checkOption(
      'connectTimeoutMs',
      durationMs(1),
      options.connectTimeoutMs ?? defaultConnectTimeoutMs,
    )
    const { closeTimeoutMs = defaultDialCloseTimeoutMs } = options
    const limits = resolveWebSocketLimits({ ...options, closeTimeoutMs })
    const fail = (error: SpeechError): void => this.#fail(error)
    const opening = attempt(() => open(url, options, limits, fail))
    // A browser tells nothing but this, on purpose (WHATWG WebSockets, section 4).
    const closed = (): void => fail(noConnection(peer))
    this.#subscriber = subscriber
    this.#opening = opening
    const late = (): void => fail(connectTimeout(peer, connectTimeoutMs))
    this.#timer = schedule(limits.scheduler, connectTimeoutMs, late, { ref: true })
    opening.socket.addEventListener('close', closed)
    opening.socket.addEventListener(
      'open',
      () => {
        opening.socket.removeEventListener?.('close', closed)
        this.#opened(opening)
      },
      { once: true },
    )
  }

  end(): void {
    this.#timer?.unsubscribe()
    this.#opening?.abandon()
    this.#link?.close()
  }

  #opened(opening: Opening): void {
    this.#timer?.unsubscribe()
    this.#timer = undefined
    if (this.#subscriber.closed) return
    this.#opening = undefined
    this.#link = opening.link()
    this.#subscriber.next(this.#link)
  }

  #fail(error: SpeechError): void {
    if (this.#link === undefined) this.#subscriber.error(error)
  }
}

const attempt = (open: () => Opening): Opening => {
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
      const connecting = new Connecting(open, options, subscriber)
      return () => connecting.end()
    })
