import { HttpsProxyAgent } from 'https-proxy-agent'
import { type Agent, type IncomingMessage, request } from 'node:http'
import { Observable, type SchedulerLike, throwError, timeout } from 'rxjs'
import { codeOf } from '../errors/code-of.js'
import { SpeechError } from '../errors/speech-error.js'
import { type Proxy, proxyHeaders } from './proxy.js'

/** One attempt to connect through a proxy by CONNECT (RFC 9110 section 9.3.6), for any protocol. */
export interface ProxyAttempt {
  readonly agent: Agent
  /** The error for a refusal of the proxy, which the HTTP client reports as an answer of the service. */
  readonly refusal: (peer: string) => SpeechError | undefined
  /** The error for a failed connection; undefined if the proxy had accepted it. */
  readonly failure: (peer: string, error: unknown) => SpeechError | undefined
}

/** @param signal ends the attempt, also while the proxy does not answer, and the connection */
export const throughProxy = (proxy: Proxy, signal: AbortSignal): ProxyAttempt => {
  let status: number | undefined
  // Credentials go into a header, because the package logs the address of its proxy.
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
