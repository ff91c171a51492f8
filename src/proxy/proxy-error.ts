import { SpeechError } from '../errors/speech-error.js'
import type { Proxy } from './proxy.js'

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
