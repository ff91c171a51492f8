import { HttpsProxyAgent } from 'https-proxy-agent'
import { type Agent, type IncomingMessage, request } from 'node:http'
import { Observable, type SchedulerLike, throwError, timeout } from 'rxjs'
import { SpeechError } from '../errors/speech-error.js'
import { type Proxy, proxyHeaders } from './proxy.js'

/** One attempt to connect through a proxy by CONNECT (RFC 9110 section 9.3.6), whatever is spoken then. */
export interface ProxyAttempt {
  readonly agent: Agent
  /** The proxy's answer where it is a refusal; the HTTP client takes it for the service's. */
  readonly refusal: (peer: string) => SpeechError | undefined
  /** What an error of the connection means; undefined where the proxy had let it through. */
  readonly failure: (peer: string, error: unknown) => SpeechError | undefined
}

/** `signal` ends the attempt, also while the proxy says nothing, and the connection. */
export const throughProxy = (proxy: Proxy, signal: AbortSignal): ProxyAttempt => {
  let status: number | undefined
  // With the credentials as a header, for the package writes the address of its proxy to its own log.
  const agent = new HttpsProxyAgent(proxy.url, { headers: { ...proxyHeaders(proxy) }, signal })
  agent.on('proxyConnect', (answer: Pick<IncomingMessage, 'statusCode'>) => {
    status = answer.statusCode
  })
  const refusal = (peer: string): SpeechError | undefined =>
    status === undefined || status === 200 ? undefined : proxyRefusal(proxy, peer, status)
  return {
    agent,
    refusal,
    failure: (peer, error) => (status === undefined ? proxyUnreachable(proxy, error) : refusal(peer)),
  }
}

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

/** There is no connection to the proxy itself. */
export const proxyUnreachable = ({ name }: Proxy, error: unknown): SpeechError => {
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? ` (${error.code})` : ''
  return new SpeechError(
    'connection-failed',
    `The proxy at ${name} cannot be reached${code}; check the proxy option, HTTPS_PROXY and HTTP_PROXY, or set proxy to false.`,
    { cause: error },
  )
}

/** What a proxy means that answers CONNECT with another status than 200. `peer` is `host:port`. */
export const proxyRefusal = ({ name }: Proxy, peer: string, status: number): SpeechError => {
  if (status === 407) {
    return new SpeechError(
      'connection-failed',
      `The proxy at ${name} asks for a user and a password, or does not take those it got (HTTP 407); give them as http://user:password@host:port.`,
      { retryable: false },
    )
  }
  if (status === 401 || status === 403 || status === 405) {
    return new SpeechError(
      'connection-failed',
      `The proxy at ${name} lets no connection to ${peer} through (HTTP ${status}); have it allowed there, or name the host in NO_PROXY.`,
      { retryable: false },
    )
  }
  return new SpeechError(
    'connection-failed',
    `The proxy at ${name} could not connect to ${peer} (HTTP ${status}); check the address, and that the service runs.`,
    { retryable: status >= 500 || status === 429 },
  )
}
