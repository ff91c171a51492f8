import { request } from 'node:http'
import { Observable, throwError, timeout, type SchedulerLike } from 'rxjs'
import { SpeechError } from '../errors/speech-error.js'
import { proxyHeaders, type Proxy } from './proxy.js'
import { proxyRefusal, proxyUnreachable } from './proxy-error.js'

/** What a probe needs to know. */
export interface Probe {
  readonly proxy: Proxy
  /** `host:port`. */
  readonly peer: string
  readonly timeoutMs: number
  readonly scheduler: SchedulerLike
}

/**
 * Asks a proxy for a connection and gives it back: completes where the proxy lets it through. The gRPC package connects
 * through proxies by itself, but neither tells why one refuses nor ever gives up one that says nothing.
 *
 * Errors: `connection-failed` with the proxy's reason, `connect-timeout`. Unsubscribing ends the connection.
 */
export const probeProxy = ({ proxy, peer, timeoutMs, scheduler }: Probe): Observable<never> =>
  new Observable<never>((subscriber) => {
    const { hostname, port } = proxy.url
    const asked = request({
      method: 'CONNECT',
      host: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: port === '' ? 80 : Number(port),
      path: peer,
      headers: { Host: peer, ...proxyHeaders(proxy) },
      agent: false,
    })
    asked.on('error', (error) => subscriber.error(proxyUnreachable(proxy, error)))
    asked.once('connect', ({ statusCode = 0 }, socket) => {
      socket.on('error', () => undefined)
      socket.destroy()
      if (statusCode === 200) subscriber.complete()
      else subscriber.error(proxyRefusal(proxy, peer, statusCode))
    })
    asked.end()
    return () => asked.destroy()
  }).pipe(
    timeout({
      first: timeoutMs,
      scheduler,
      with: () => throwError(() => silentProxy(proxy, timeoutMs)),
    }),
  )

const silentProxy = ({ name }: Proxy, timeoutMs: number): SpeechError =>
  new SpeechError(
    'connect-timeout',
    `The proxy at ${name} did not answer within ${timeoutMs} ms; check it and the network.`,
  )
