import type { Agent, IncomingMessage } from 'node:http'
import { HttpsProxyAgent } from 'https-proxy-agent'
import type { SpeechError } from '../errors/speech-error.js'
import { proxyHeaders, type Proxy } from './proxy.js'
import { proxyRefusal, proxyUnreachable } from './proxy-error.js'

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
