import { SpeechError, type SpeechErrorOptions } from '../../errors/speech-error.js'
import { retryAfterMs } from '../../protocol/retry-after.js'
import { namedRefusal } from '../named-refusal.js'

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
  const named = namedRefusal(text.trim())
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
