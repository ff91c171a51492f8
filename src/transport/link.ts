import type { Observable } from 'rxjs'
import type { ErrorCode } from '../errors/error-table.js'

/**
 * One open connection, seen from one end: the seam between messages (codecs, sessions, service) and their transport
 * (memory, WebSocket, gRPC). It has no retry, no policy and no codec. `test/contract` tests each implementation against
 * this interface.
 */
export interface Link<In, Out> {
  /**
   * The messages of the peer: hot, one subscriber; messages that arrive before the subscription are kept. It completes
   * when the peer ends normally (WebSocket 1000, gRPC OK or half-close), otherwise it errors with a `SpeechError`
   * (`connection-lost`, or the code that the peer's close code or status names). All messages that arrived before the
   * end are delivered before it.
   */
  readonly incoming$: Observable<In>
  /**
   * Passes a message to the transport, in order; after an end of either side it has no effect. Never throws. Bytes are
   * not copied: do not change them afterwards.
   */
  send(message: Out): void
  /** Sent bytes that the transport has not taken yet. */
  readonly bufferedBytes: number
  /**
   * Emits once and completes as soon as `bufferedBytes` is at or below the low-water mark, synchronously if it already
   * is; also when the link ends.
   */
  readonly drain$: Observable<void>
  /** Whether `bufferedBytes` is above the high-water mark, so that a sender should wait for `drain$`. */
  readonly isCongested: boolean
  /**
   * Emits when the connection is about to end but still works, as announced by HTTP/2's GOAWAY, and when it has broken.
   * Absent if the transport has no such signal.
   */
  readonly leaving$?: Observable<void> | undefined
  /**
   * Stops reading from the peer, which feels the back-pressure, and delivers no message until `resume`. What is in
   * flight still arrives, and waits; an end without messages before it is delivered.
   */
  pause(): void
  /** Reads from the peer again. */
  resume(): void
  /** Half-closes: this end sends no more, the peer may. Has no effect if the transport has no half-close. */
  finish(): void
  /**
   * Ends both directions: normally without a reason, otherwise as the error table defines for the code. Sent messages
   * are delivered first, within a bounded time. `incoming$` completes at once and drops the messages that it holds.
   * Idempotent. A gRPC client cannot send a reason: the service gets a half-close, or with a reason a cancelled call.
   */
  close(reason?: CloseReason): void
}

/** Why a link is closed. */
export interface CloseReason {
  /** The error, from which the close code or the status follows. */
  readonly code: ErrorCode
  /** One sentence for a person at the other end. */
  readonly message: string
  /**
   * The session is complete, and the reason only explains it: gRPC ends with OK and puts the reason into trailers;
   * other transports treat it as any reason. @default false
   */
  readonly orderly?: boolean | undefined
  /** How long to wait before the next attempt, in milliseconds. */
  readonly retryAfterMs?: number | undefined
  /** The close code of a WebSocket, for peers that do not have those of the table; browsers cannot send it. */
  readonly closeCode?: number | undefined
}

/**
 * Cold: subscribing connects and emits one open link, and stays open even when the link ends; unsubscribing closes it
 * (`take(1)` does too); a failure to connect errors with a `SpeechError`.
 */
export type Dial<In, Out> = Observable<Link<In, Out>>

/** A message of the recognizer's socket: JSON as text, audio as bytes (PROTOCOL 4). */
export type SocketMessage = string | Uint8Array

/** A message of the dataflow stream, in either direction (PROTOCOL 3, Stream message). */
export interface DataflowMessage {
  /**
   * 0 AUDIO, 1 EVENT, 2 REQUEST, 3 RESPONSE; any other number is kept unchanged. -1 marks bytes that are not such a
   * message, in `binaryContent`.
   */
  readonly contentType: number
  /** JSON of a REQUEST, RESPONSE or EVENT; empty for AUDIO. */
  readonly content: string
  /** Whole frames of an AUDIO message; empty for all others. */
  readonly binaryContent: Uint8Array
}
