import { connectionLost } from './close-code.js'
import type { ErrorCode } from '../../errors/error-code.js'
import { SpeechError } from '../../errors/speech-error.js'

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
