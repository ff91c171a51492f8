import { SpeechError } from '../errors/speech-error.js'
import type { UpdateRequest } from '../protocol/dataflow-messages.js'
import type { SessionEvent } from '../protocol/session-event.js'

/**
 * The meaning of a message of the service for the session: the answer to a request, with an error if it was refused; or
 * the message that ends a recognition (the WebSocket's final-result).
 */
export interface ControlSignal {
  readonly type: 'start-answer' | 'finalize-answer' | 'stop-answer' | 'session-ended'
  readonly error?: SpeechError | undefined
}

/** An unreadable answer to the start. No other follows, so the session fails without waiting for the deadline. */
export const unreadableStart = (reason: string): ControlSignal => ({
  type: 'start-answer',
  error: new SpeechError('protocol-violation', `The service's answer to the start cannot be read: ${reason}`),
})

/** A decoded message of the service: the event for the user, and its meaning for the session, if any. */
export interface DecodedMessage {
  readonly event: SessionEvent
  readonly signal?: ControlSignal
  /** The connection ends after the event: the service violates the protocol, for example to keep the client busy. */
  readonly violation?: SpeechError
}

/** What a service knows a session by, over all of its connections. */
export interface ServiceSession {
  /** The first one that the service gives, if it gives any. */
  id?: string | undefined
}

/** Differences between the interfaces at the end of a session. */
export interface Ending {
  /** Whether a normal end of the stream ends the session (gRPC), or only the final result does (WebSocket). */
  readonly endsWith: 'end-of-stream' | 'session-ended'
  /** How finalize is requested. After a half-close no more requests are possible, not even a stop. */
  readonly finalizeBy: 'half-close' | 'request'
}

/**
 * Writes and reads the messages of an interface: all differences between the two interfaces once a connection is open.
 * An instance belongs to one connection. No method throws.
 */
export interface WireProtocol<In, Out> {
  start(token: string): Out
  audio(bytes: Uint8Array): Out
  finalize(): Out
  stop(): Out
  read(message: In): DecodedMessage
  /** Decodes the text of a message. */
  text(message: In): string
  /** Writes an update during the session; undefined if the interface has no such message. */
  update?(update: UpdateRequest): Out
}
