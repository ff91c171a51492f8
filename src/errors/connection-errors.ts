import { codeOf, SpeechError } from './speech-error.js'

/**
 * `connection-failed` without a known cause. `peer` is `host:port`, the only part of an address that a message may
 * contain. `hint` is another thing to check.
 */
export const noConnection = (peer: string, cause?: unknown, hint = ''): SpeechError =>
  new SpeechError(
    'connection-failed',
    `No connection to ${peer}; check the address, and that the service runs${hint}.`,
    {
      cause,
    },
  )

/** `connect-timeout`, naming the peer and the bound. */
export const connectTimeout = (peer: string, connectTimeoutMs: number): SpeechError =>
  new SpeechError(
    'connect-timeout',
    `No connection to ${peer} within ${connectTimeoutMs} ms; check the address and the network.`,
  )

interface Failure {
  readonly pattern: RegExp
  readonly sentence: (peer: string) => string
  readonly retryable: boolean
}

const droppedConnection =
  /ECONNRESET|EPIPE|socket hang up|Socket closed|disconnected before|Connection dropped|RST_STREAM/i

/** Certificates that a client refuses, most specific first. */
const certificateFailures: readonly Failure[] = [
  {
    pattern: /ALTNAME_INVALID|does not match certificate/i,
    sentence: (peer) => `The certificate of ${peer} is for another name; use the name that it is for.`,
    retryable: false,
  },
  {
    pattern: /CERT_HAS_EXPIRED|certificate has expired|CERT_NOT_YET_VALID|certificate is not yet valid/i,
    sentence: (peer) => `The certificate of ${peer} is not valid today; renew it or correct the clock.`,
    retryable: false,
  },
  {
    pattern: /self.signed|SELF_SIGNED|UNABLE_TO_(VERIFY|GET)|unable to (verify|get)|CERT_|certificate/i,
    sentence: (peer) => `The certificate of ${peer} is not trusted; give the CA certificate of the service.`,
    retryable: false,
  },
]

/** Errors of sockets (errno names), of TLS (names and sentences of OpenSSL) and of HTTP, most specific first. */
export const connectFailures: readonly Failure[] = [
  ...certificateFailures,
  {
    pattern: /EPROTO|wrong version number|ERR_SSL|HPE_|Parse Error|ERR_HTTP2|Protocol error/i,
    sentence: (peer) => `${peer} does not speak the protocol; check the port, and whether it expects TLS.`,
    retryable: false,
  },
  {
    pattern: /subprotocol/i,
    sentence: (peer) =>
      `${peer} did not agree on a subprotocol; a proxy in between must pass on Sec-WebSocket-Protocol, or choose another presentToken.`,
    retryable: false,
  },
  {
    pattern: /Sec-WebSocket|Upgrade header/i,
    sentence: (peer) => `${peer} does not answer as a WebSocket server; check the address.`,
    retryable: false,
  },
  {
    pattern: /ECONNREFUSED/,
    sentence: (peer) => `Nothing listens at ${peer}; check the address and that the service runs.`,
    retryable: true,
  },
  {
    pattern: /ENOTFOUND|EAI_AGAIN|Name resolution failed|ENODATA/i,
    sentence: (peer) => `The name of ${peer} is not known; check the address and the network.`,
    retryable: true,
  },
  {
    pattern: /ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL/,
    sentence: (peer) => `${peer} cannot be reached; check the address and the network.`,
    retryable: true,
  },
  {
    pattern: droppedConnection,
    sentence: (peer) => `${peer} closed the connection before it was open; check the port, and whether it expects TLS.`,
    retryable: true,
  },
]

/**
 * `connection-lost` for a peer that drops the connection after the TLS handshake, such as a balancer whose service
 * restarts: it is the right peer, so that even a first connection is worth a retry. Undefined for any other failure.
 */
export const brokenAfterTls = (peer: string, error: unknown): SpeechError | undefined =>
  error instanceof Error && droppedConnection.test(textOf(error))
    ? new SpeechError('connection-lost', `${peer} broke the connection off after the TLS handshake; try again later.`, {
        cause: error,
      })
    : undefined

const textOf = (error: Error): string => {
  const code = codeOf(error)
  return code === undefined ? error.message : `${code} ${error.message}`
}

/**
 * `connection-failed` with a sentence for a known cause. `peer` is `host:port`; a message contains no other part of an
 * address, because a query or a user part may contain a token.
 */
export const connectFailure = (peer: string, error: unknown): SpeechError => {
  const text = error instanceof Error ? textOf(error) : ''
  const failure = connectFailures.find(({ pattern }) => pattern.test(text))
  return failure === undefined
    ? noConnection(peer, error)
    : new SpeechError('connection-failed', failure.sentence(peer), {
        cause: withoutPacket(error),
        retryable: failure.retryable,
      })
}

/** `connection-failed` for the code of a certificate that the client refused; undefined for any other code. */
export const certificateFailure = (peer: string, code: string): SpeechError | undefined => {
  const failure = certificateFailures.find(({ pattern }) => pattern.test(code))
  return failure && new SpeechError('connection-failed', failure.sentence(peer), { retryable: failure.retryable })
}

/** Node attaches the bytes of an answer that is not HTTP, in which the peer may repeat a token. */
const withoutPacket = (error: unknown): unknown =>
  error instanceof Error && 'rawPacket' in error
    ? Object.assign(new Error(error.message), 'code' in error ? { code: error.code } : {})
    : error
