import { connectionLost } from './close-code.js'
import { SpeechError } from '../../errors/speech-error.js'

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
    : connectionLost(error)
}
