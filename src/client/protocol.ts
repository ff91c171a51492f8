import { SpeechError } from '../errors/speech-error.js'
import type { UpdateRequest } from '../protocol/dataflow-messages.js'
import type { SessionEvent } from '../protocol/session-event.js'

/** What a message of the service means for the life of the session: */
export interface ControlSignal {
  /**
   * the answer to one of our requests, with an error when it was refused; or the last word of a service that ends a
   * session with one (the WebSocket's final-result).
   */
  readonly type: 'start-answer' | 'finalize-answer' | 'stop-answer' | 'session-ended'
  readonly error?: SpeechError | undefined
}

/** An answer to the start that cannot be read: no other follows, so the session need not wait for its deadline. */
export const unreadableStart = (reason: string): ControlSignal => ({
  type: 'start-answer',
  error: new SpeechError('protocol-violation', `The service's answer to the start cannot be read: ${reason}`),
})

/** A message of the service, read: what the user gets of it, and what it means, if anything. */
export interface DecodedMessage {
  readonly event: SessionEvent
  readonly signal?: ControlSignal
}

/** How a session ends, as far as the interfaces differ in it. */
export interface Ending {
  /** Whether the end of the stream, in good order, ends the session (gRPC), or only a last word does (WebSocket). */
  readonly endsWith: 'end-of-stream' | 'session-ended'
  /** How the end of the audio is said. After a half-close nothing can be asked any more, a stop neither. */
  readonly finalizeBy: 'half-close' | 'request'
}

/**
 * What is said over a link and how it is understood: all that differs between the two interfaces once they are
 * connected. A dialogue belongs to one connection. Nothing in it throws.
 */
export interface WireProtocol<In, Out> {
  start(token: string): Out
  audio(bytes: Uint8Array): Out
  finalize(): Out
  stop(): Out
  read(message: In): DecodedMessage
  /** What of a message is text, as it came. */
  text(message: In): string
  /** A change while the session streams, where the interface has such a thing. */
  update?(update: UpdateRequest): Out
}
