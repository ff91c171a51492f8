import { codeOf, SpeechError, type SpeechErrorOptions } from '../../errors/speech-error.js'
import { errorTable, type ErrorCode } from '../../errors/error-table.js'
import { retryAfterMs } from '../../protocol/retry-after.js'
import { parseRefusal, reasonText } from '../../errors/refusal.js'
import { type CloseReason, maxReasonBytes } from './socket.js'

/** Never sent (RFC 6455 section 7.4.1): the connection is terminated instead, and the peer gets this code. */
const abnormalClosure = 1006

/** RFC 6455 section 7.4.1, the IANA registry of close codes, and those of the service (PROTOCOL 9). */
const codeMeanings: Readonly<Record<number, ErrorCode>> = {
  1001: 'going-away',
  1002: 'protocol-violation',
  1003: 'unknown-message',
  [abnormalClosure]: 'connection-lost',
  1007: 'invalid-json',
  1009: 'message-too-big',
  1010: 'protocol-violation',
  1011: 'internal',
  1012: 'going-away',
  1013: 'overloaded',
  1014: 'connection-lost',
  1015: 'connection-failed',
  4401: 'unauthenticated',
  4403: 'tenant-denied',
  4429: 'overloaded',
}

/**
 * The error for a peer's close code and reason; undefined for a normal end: 1000, or 1005, which means a close frame
 * without a code. A reason with a code of the error table takes precedence over the number.
 */
export const closeError = (closeCode: number, reason: string): SpeechError | undefined => {
  if (closeCode === 1000 || closeCode === 1005) return undefined
  const named = parseRefusal(reason)
  if (named !== undefined) return named
  if (closeCode === abnormalClosure && reason === '') return connectionLost()
  const code = codeMeanings[closeCode] ?? 'refused'
  return new SpeechError(code, `The peer closed with code ${closeCode}: ${reason || 'it sent no reason'}.`)
}

const connectionLost = (cause?: unknown): SpeechError =>
  new SpeechError('connection-lost', 'The connection broke; start a new session.', { cause })

export interface CloseFrame {
  readonly code: number
  readonly reason: string
}

/**
 * The close frame for a reason: 1000 without one, otherwise its close code or that of the error table and `<code>:
 * <sentence>`, at most 123 bytes of UTF-8. Undefined for the codes of a broken connection, which is terminated.
 */
export const closeFrame = (reason: CloseReason | undefined): CloseFrame | undefined => {
  if (reason === undefined) return { code: 1000, reason: '' }
  const { closeCode = errorTable[reason.code].closeCode } = reason
  return closeCode === abnormalClosure ? undefined : { code: closeCode, reason: reasonText(reason, maxReasonBytes) }
}

/** The answer of a server that does not switch protocols (RFC 6455 section 4.2.2). */
export interface HandshakeAnswer {
  readonly status: number
  /** The unchanged header: seconds or a date (RFC 9110 section 10.2.3). */
  readonly retryAfter: string | undefined
  /** The beginning of the body. */
  readonly text: string
}

/** The error of a refused handshake: from a body `<code>: <sentence>`, otherwise from the HTTP status. */
export const handshakeError = (peer: string, answer: HandshakeAnswer, nowMs: number): SpeechError => {
  const { status, text } = answer
  const waitMs = retryAfterMs(answer.retryAfter, nowMs)
  const options: SpeechErrorOptions = { retryAfterMs: waitMs }
  const named = parseRefusal(text.trim())
  if (named !== undefined) return new SpeechError(named.code, named.message, options)
  if (status === 401) {
    return new SpeechError(
      'unauthenticated',
      `${peer} did not accept the token; present a valid bearer token.`,
      options,
    )
  }
  if (status === 403) {
    return new SpeechError('tenant-denied', `The subscription does not grant access to ${peer}.`, options)
  }
  if (status === 429 || status === 503) {
    return new SpeechError('overloaded', `${peer} accepts no more sessions now; try again later.`, options)
  }
  // A gateway without its backend; gRPC maps the same statuses to UNAVAILABLE.
  if (status === 502 || status === 504) {
    return new SpeechError(
      'connection-lost',
      `${peer} answered the handshake with HTTP ${status}; try again later.`,
      options,
    )
  }
  if (status >= 500 || status === 408) {
    return new SpeechError(
      'connection-failed',
      `${peer} answered the handshake with HTTP ${status}; try again later.`,
      options,
    )
  }
  if (status === 426) {
    return new SpeechError(
      'refused',
      `The request reached ${peer} without Upgrade; a proxy in between must pass on Upgrade and Connection.`,
      options,
    )
  }
  const hint =
    status >= 300 && status < 400
      ? 'redirects are not followed, use the final address'
      : 'check the path, and that a proxy in between passes on Upgrade'
  return new SpeechError('refused', `${peer} answered the handshake with HTTP ${status}; ${hint}.`, options)
}

/** By the close codes of the package `ws`: not UTF-8, too many fragments, too long. */
const protocolErrorCodes: Readonly<Record<number, ErrorCode>> = {
  1007: 'invalid-json',
  1008: 'message-too-big',
  1009: 'message-too-big',
}

const protocolErrorTexts: Partial<Readonly<Record<ErrorCode, string>>> = {
  'invalid-json': 'Text that is not UTF-8 was sent; send JSON.',
  'message-too-big': 'A message is larger than allowed, or in too many parts; send smaller ones.',
}

/** The refusal that a peer gets for a protocol error, from the close code of the package `ws`. */
export const protocolError = (closeCode: number): SpeechError => {
  const code = protocolErrorCodes[closeCode] ?? 'protocol-violation'
  return new SpeechError(code, protocolErrorTexts[code] ?? 'A frame was sent that RFC 6455 does not allow.')
}

/**
 * The error for a protocol error of the peer, from the error of the package `ws`, which then closes the connection.
 * Retryable, because one bad frame ends the connection (RFC 6455 sections 7.1.7 and 8.1) and the next may have none.
 */
export const receiverError = (cause: unknown): SpeechError => {
  const options = { cause, retryable: true }
  const code = codeOf(cause) ?? ''
  if (/MESSAGE_LENGTH|TOO_MANY_BUFFERED/.test(code)) {
    return new SpeechError('message-too-big', 'The peer sent a message that is larger than maxMessageBytes.', options)
  }
  if (code === 'WS_ERR_INVALID_UTF8') {
    return new SpeechError('invalid-json', 'The peer sent text that is not UTF-8.', options)
  }
  return code.startsWith('WS_ERR_')
    ? new SpeechError('protocol-violation', 'The peer sent a frame that RFC 6455 does not allow.', options)
    : connectionLost(cause)
}
