import type { ErrorCode } from '../../errors/error-code.js'
import { errorTable } from '../../errors/error-table.js'
import { SpeechError, type SpeechErrorOptions } from '../../errors/speech-error.js'
import { retryAfterMs } from '../../protocol/retry-after.js'
import { parseRefusal, reasonText } from '../../errors/refusal.js'
import { type CloseReason, maxReasonBytes } from './socket.js'

/** Never on the wire (RFC 6455 section 7.4.1): the connection is cut instead, which is what the peer then sees. */
export const abnormalClosure = 1006

/** RFC 6455 section 7.4.1, the IANA registry of close codes, and the service's own (decisions.md). */
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
 * What a peer's close code and reason mean; undefined for an end in good order: 1000, or 1005, which is a close frame
 * without a code, as plain clients send it. A reason that names a code of the error table decides, whatever the number.
 */
export const closeError = (closeCode: number, reason: string): SpeechError | undefined => {
  if (closeCode === 1000 || closeCode === 1005) return undefined
  const named = parseRefusal(reason)
  if (named !== undefined) return named
  if (closeCode === abnormalClosure && reason === '') return connectionLost()
  const code = codeMeanings[closeCode] ?? 'refused'
  return new SpeechError(code, `The peer closed with code ${closeCode}: ${reason || 'it gave no reason'}.`)
}

export const connectionLost = (cause?: unknown): SpeechError =>
  new SpeechError('connection-lost', 'The connection broke; start a new session.', { cause })

export interface CloseFrame {
  readonly code: number
  readonly reason: string
}

/**
 * How a WebSocket is closed: 1000 without a reason, else the error table's code and `<code>: <sentence>`, at most
 * 123 bytes of UTF-8. Undefined for the codes that stand for a broken connection: those break it.
 */
export const closeFrame = (reason: CloseReason | undefined): CloseFrame | undefined => {
  if (reason === undefined) return { code: 1000, reason: '' }
  const { closeCode } = errorTable[reason.code]
  return closeCode === abnormalClosure ? undefined : { code: closeCode, reason: reasonText(reason, maxReasonBytes) }
}

/** What a server said instead of switching protocols (RFC 6455 section 4.2.2). */
export interface HandshakeAnswer {
  readonly status: number
  /** The header as it came: seconds or a date (RFC 9110 section 10.2.3). */
  readonly retryAfter: string | undefined
  /** The beginning of the body. */
  readonly text: string
}

/** The error of a refused handshake. A body that reads `<code>: <sentence>` decides the code; else the HTTP status does. */
export const handshakeError = (peer: string, answer: HandshakeAnswer, nowMs: number): SpeechError => {
  const { status, text } = answer
  const waitMs = retryAfterMs(answer.retryAfter, nowMs)
  const options: SpeechErrorOptions = waitMs === undefined ? {} : { retryAfterMs: waitMs }
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
    return new SpeechError('tenant-denied', `The subscription does not grant what was asked of ${peer}.`, options)
  }
  if (status === 429 || status === 503) {
    return new SpeechError('overloaded', `${peer} takes no more sessions now; try again later.`, options)
  }
  // A gateway that has lost what is behind it: over gRPC the same statuses mean UNAVAILABLE.
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
  const hint = status >= 300 && status < 400 ? 'redirects are not followed, give the final address' : 'check the path'
  return new SpeechError('refused', `${peer} answered the handshake with HTTP ${status}; ${hint}.`, options)
}

/** By the codes with which the WebSocket package would close: too long, too many parts, no UTF-8. */
const unreadableCodes: Readonly<Record<number, ErrorCode>> = {
  1007: 'invalid-json',
  1008: 'message-too-big',
  1009: 'message-too-big',
}

const unreadableTexts: Partial<Readonly<Record<ErrorCode, string>>> = {
  'invalid-json': 'Text that is not UTF-8 was sent; send JSON.',
  'message-too-big': 'A message is larger than is allowed, or in too many parts; send smaller ones.',
}

/** What a peer is told that sent what cannot be read, from the close code that the WebSocket package has for it. */
export const unreadableError = (closeCode: number): SpeechError => {
  const code = unreadableCodes[closeCode] ?? 'protocol-violation'
  return new SpeechError(code, unreadableTexts[code] ?? 'A frame was sent that RFC 6455 does not allow.')
}

/**
 * What the WebSocket package's own finding about the peer means, before it closes the connection by itself. Retryable:
 * one frame that cannot be read costs the connection (RFC 6455 sections 7.1.7 and 8.1), another one need not have it.
 */
export const receiverError = (cause: unknown): SpeechError => {
  const options = { cause, retryable: true }
  const found = cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : ''
  if (/MESSAGE_LENGTH|TOO_MANY_BUFFERED/.test(found)) {
    return new SpeechError('message-too-big', 'The peer sent a message that is larger than maxMessageBytes.', options)
  }
  if (found === 'WS_ERR_INVALID_UTF8') {
    return new SpeechError('invalid-json', 'The peer sent text that is not UTF-8.', options)
  }
  return found.startsWith('WS_ERR_')
    ? new SpeechError('protocol-violation', 'The peer sent a frame that RFC 6455 does not allow.', options)
    : connectionLost(cause)
}
