import { errorTable, type ErrorCode } from '../errors/error-table.js'
import { SpeechError } from '../errors/speech-error.js'
import { namedRefusal, reasonText } from './named-refusal.js'

/** RFC 6455 section 5.5: a control frame holds 125 bytes, two of which are the close code. */
const maxReasonBytes = 123

/** Never on the wire (RFC 6455 section 7.4.1): the connection is cut instead, which is what the peer then sees. */
const abnormalClosure = 1006

/** The only codes that a browser may send are 1000 and 3000–4999; any other reason goes as this one and is told by its text. */
const browserReasonCode = 4000

export interface CloseFrame {
  readonly code: number
  readonly reason: string
}

/**
 * How a WebSocket is closed: 1000 without a reason, else the error table's code and `<code>: <sentence>`, at most
 * 123 bytes of UTF-8. Undefined for the codes that stand for a broken connection: those break it.
 */
export const closeFrame = (
  reason: { readonly code: ErrorCode; readonly message: string } | undefined,
  platform: 'node' | 'browser',
): CloseFrame | undefined => {
  if (reason === undefined) return { code: 1000, reason: '' }
  const { closeCode } = errorTable[reason.code]
  const browserCode = closeCode >= 3000 ? closeCode : browserReasonCode
  if (platform === 'node' && closeCode === abnormalClosure) return undefined
  return { code: platform === 'browser' ? browserCode : closeCode, reason: reasonText(reason, maxReasonBytes) }
}

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
  const code = codeMeanings[closeCode]
  if (code !== undefined) return new SpeechError(code, reason || errorTable[code].help)
  return new SpeechError('refused', `The peer closed with code ${closeCode}: ${reason || 'it gave no reason'}.`)
}

/** What the WebSocket package's own finding about the peer means, before it closes the connection by itself. */
export const receiverError = (error: unknown): SpeechError => {
  const found = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (/MESSAGE_LENGTH|TOO_MANY_BUFFERED/.test(found)) {
    return new SpeechError('message-too-big', 'The peer sent a message that is larger than maxMessageBytes.', {
      cause: error,
    })
  }
  if (found === 'WS_ERR_INVALID_UTF8') {
    return new SpeechError('invalid-json', 'The peer sent text that is not UTF-8.', { cause: error })
  }
  return found.startsWith('WS_ERR_')
    ? new SpeechError('protocol-violation', 'The peer sent a frame that RFC 6455 does not allow.', { cause: error })
    : new SpeechError('connection-lost', errorTable['connection-lost'].help, { cause: error })
}
