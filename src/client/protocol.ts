import { SpeechError } from '../errors/speech-error.js'
import type { UpdateRequest } from '../protocol/dataflow-messages.js'
import type { SessionEvent } from '../protocol/session-event.js'

/**
 * What a message of the service means for the life of the session: the answer to a request, with an error when it was
 * refused; or the message with which a service ends a recognition (the WebSocket's final-result).
 */
export interface ControlSignal {
  readonly type: 'start-answer' | 'finalize-answer' | 'stop-answer' | 'session-ended'
  readonly error?: SpeechError | undefined
}

/** An answer to the start that cannot be read: no other follows, so the session need not wait for its deadline. */
export const unreadableStart = (reason: string): ControlSignal => ({
  type: 'start-answer',
  error: new SpeechError('protocol-violation', `The service's answer to the start cannot be read: ${reason}`),
})

/** A message of the service, decoded: the event for the user, and what it means for the session, if anything. */
export interface DecodedMessage {
  readonly event: SessionEvent
  readonly signal?: ControlSignal
}

/** How a session ends, as far as the interfaces differ in it. */
export interface Ending {
  /** Whether the end of the stream, in good order, ends the session (gRPC), or only the final result does (WebSocket). */
  readonly endsWith: 'end-of-stream' | 'session-ended'
  /** How the service is asked to finalize. After a half-close nothing can be requested any more, not even a stop. */
  readonly finalizeBy: 'half-close' | 'request'
}

/**
 * The messages of an interface, written and read: all that differs between the two interfaces once they are connected. An
 * instance belongs to one connection. Nothing in it throws.
 */
export interface WireProtocol<In, Out> {
  start(token: string): Out
  audio(bytes: Uint8Array): Out
  finalize(): Out
  stop(): Out
  read(message: In): DecodedMessage
  /** The text of a message, as it came. */
  text(message: In): string
  /** A change while the session streams, where the interface has that message. */
  update?(update: UpdateRequest): Out
}
