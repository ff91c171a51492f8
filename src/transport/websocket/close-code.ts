import type { ErrorCode } from '../../errors/error-code.js'
import { SpeechError } from '../../errors/speech-error.js'
import { namedRefusal } from '../named-refusal.js'

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
  const named = namedRefusal(reason)
  if (named !== undefined) return named
  if (closeCode === abnormalClosure && reason === '') return connectionLost()
  const code = codeMeanings[closeCode] ?? 'refused'
  return new SpeechError(code, `The peer closed with code ${closeCode}: ${reason || 'it gave no reason'}.`)
}

export const connectionLost = (cause?: unknown): SpeechError =>
  new SpeechError('connection-lost', 'The connection broke; start a new session.', { cause })
