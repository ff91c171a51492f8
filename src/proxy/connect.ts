import * as http from 'node:http'
import * as https from 'node:https'
import { isIP, isIPv6 } from 'node:net'
import type { Duplex } from 'node:stream'
import * as tls from 'node:tls'
import { ignoreElements, Observable, type SchedulerLike, tap, throwError, timeout } from 'rxjs'
import { codeOf, SpeechError } from '../errors/speech-error.js'
import type { ProxyOption } from '../protocol/proxy-option.js'
import { type Proxy, proxyFor, proxyHeaders } from './proxy.js'

/** The option of an HTTP request, or of the package `ws`, that opens its connection. */
type CreateConnection = (
  options: http.ClientRequestArgs,
  opened: (error: Error | null, connection: Duplex) => void,
) => undefined

/**
 * Opens the connection of an HTTP request or a WebSocket through a proxy. The request fails with the `SpeechError` of a
 * proxy that refuses or cannot be reached.
 *
 * @param isSecure whether TLS follows, with the host of the request.
 * @param signal ends the attempt, also while the proxy does not answer.
 */
export const connectThrough =
  (proxy: Proxy, isSecure: boolean, signal: AbortSignal): CreateConnection =>
  (options, opened) => {
    const host = options.host ?? ''
    const attempt = openTunnel(proxy, `${isIPv6(host) ? `[${host}]` : host}:${options.port ?? ''}`).subscribe({
      next: (socket) => {
        const secured = { servername: isIP(host) ? '' : host, ...options, host, socket } as tls.ConnectionOptions
        opened(null, isSecure ? tls.connect(secured) : socket)
      },
      // Without a connection, which the declarations of Node ask for.
      error: opened as (error: Error) => void,
    })
    signal.addEventListener('abort', () => attempt.unsubscribe(), { once: true })
    return undefined
  }

/** How a request to an address connects: through its proxy, or by a connection of its own. */
export const connectionOf = (url: URL, option: ProxyOption | undefined, signal: AbortSignal) => {
  const proxy = proxyFor(url, option)
  return proxy === undefined
    ? { agent: false as const }
    : { createConnection: connectThrough(proxy, url.protocol === 'https:', signal) }
}

export interface ProbeOptions {
  readonly proxy: Proxy
  /** `host:port`. */
  readonly peer: string
  readonly timeoutMs: number
  readonly scheduler: SchedulerLike
}

/**
 * Opens a connection through a proxy and closes it; completes if the proxy accepts it. The gRPC package connects
 * through proxies itself, but it neither reports why a proxy refuses nor times out when it does not answer.
 *
 * Errors: `connection-failed` with the proxy's reason, `connect-timeout`. Unsubscribing ends the connection.
 */
export const probeProxy = ({ proxy, peer, timeoutMs, scheduler }: ProbeOptions): Observable<never> =>
  openTunnel(proxy, peer).pipe(
    tap((socket) => socket.destroy()),
    ignoreElements(),
    timeout({
      first: timeoutMs,
      scheduler,
      with: () => throwError(() => silentProxy(proxy, timeoutMs)),
    }),
  )

/**
 * Asks a proxy for a connection to `peer` (`host:port`) by CONNECT (RFC 9110 section 9.3.6); emits its socket and
 * completes.
 *
 * Errors: `connection-failed` with the proxy's reason. Unsubscribing before the proxy has answered ends the connection.
 */
const openTunnel = (proxy: Proxy, peer: string): Observable<Duplex> =>
  new Observable((subscriber) => {
    const { protocol, hostname, port } = proxy.url
    const { request } = protocol === 'https:' ? https : http
    const asked = request({
      method: 'CONNECT',
      host: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: port === '' ? undefined : Number(port),
      path: peer,
      headers: { Host: peer, ...proxyHeaders(proxy) },
      agent: false,
    })
    let isAnswered = false
    asked.on('error', (error) => subscriber.error(proxyUnreachable(proxy, error)))
    asked.once('connect', ({ statusCode = 0 }, socket) => {
      isAnswered = true
      socket.on('error', () => undefined)
      if (statusCode === 200) {
        subscriber.next(socket)
        subscriber.complete()
      } else {
        socket.destroy()
        subscriber.error(proxyRefusal(proxy, peer, statusCode))
      }
    })
    asked.end()
    return () => {
      if (!isAnswered) asked.destroy()
    }
  })

const silentProxy = ({ name }: Proxy, timeoutMs: number): SpeechError =>
  new SpeechError(
    'connect-timeout',
    `The proxy at ${name} did not answer within ${timeoutMs} ms; check it and the network.`,
  )

/** The error for a failed connection to the proxy itself. */
const proxyUnreachable = ({ name }: Proxy, error: unknown): SpeechError => {
  const code = codeOf(error)
  return new SpeechError(
    'connection-failed',
    `The proxy at ${name} cannot be reached${code === undefined ? '' : ` (${code})`}; check the proxy option, HTTPS_PROXY and HTTP_PROXY, or set proxy to false.`,
    { cause: error },
  )
}

/** The error for a proxy that answers CONNECT with another status than 200. `peer` is `host:port`. */
const proxyRefusal = ({ name }: Proxy, peer: string, status: number): SpeechError => {
  if (status === 407) {
    return new SpeechError(
      'connection-failed',
      `The proxy at ${name} requires a user and a password, or rejects the given ones (HTTP 407); set them as http://user:password@host:port.`,
      { retryable: false },
    )
  }
  if (status === 401 || status === 403 || status === 405) {
    return new SpeechError(
      'connection-failed',
      `The proxy at ${name} refuses connections to ${peer} (HTTP ${status}); have them allowed there, or name the host in NO_PROXY.`,
      { retryable: false },
    )
  }
  return new SpeechError(
    'connection-failed',
    `The proxy at ${name} could not connect to ${peer} (HTTP ${status}); check the address, and that the service runs.`,
    { retryable: status >= 500 || status === 429 },
  )
}
