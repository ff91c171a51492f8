import type { Observable } from 'rxjs'
import type { ErrorCode } from '../errors/error-table.js'

/**
 * One open connection, seen from one end. The seam between what is said (codec, session, service) and how it travels
 * (memory, WebSocket, gRPC). No retry, no policy, no codec. `test/contract` holds every implementation to this text.
 */
export interface Link<In, Out> {
  /**
   * What the peer says, hot, one subscriber; what arrives before the subscription is kept. It completes when the peer
   * ended in good order (WebSocket 1000, gRPC OK or half-close) and errors with one `SpeechError` otherwise
   * (`connection-lost`, or the code that the peer's close code or status names). Everything that arrived before the end
   * is delivered before it.
   */
  readonly incoming$: Observable<In>
  /**
   * Hands a message to the transport, in order. After an end of either side it does nothing. Never throws. Bytes are not
   * copied: do not change them afterwards.
   */
  send(message: Out): void
  /** Bytes handed over that the transport has not taken yet. */
  readonly bufferedBytes: number
  /** Emits once and completes when `bufferedBytes` is at or below the low-water mark, at once if it is now; also when the link ends. */
  readonly drain$: Observable<void>
  /** Whether `bufferedBytes` is above the high-water mark: a sender that can wait should wait for `room`. */
  readonly isCongested: boolean
  /**
   * Emits when the connection is about to end and goes on for now, as HTTP/2's GOAWAY says it; also when it has broken.
   * Not where the transport has no word for it.
   */
  readonly leaving$?: Observable<void>
  /** Stops reading from the peer (back-pressure reaches it) until `resume`. At most what is in flight still arrives. */
  pause(): void
  resume(): void
  /** Says that nothing more follows, while the peer may go on. Where the transport has no half-close it does nothing. */
  finish(): void
  /**
   * Ends both directions: in good order without a reason, else as the error table says for the code. What was sent
   * before is delivered first, but the wait for it is bounded. Idempotent. `incoming` completes at once, without what
   * was held. A gRPC client cannot give a reason: the service sees a half-close, or with a reason a cancelled call. `orderly`:
   * all is said, and the reason stands beside it where the transport has a place for it (gRPC: OK, and trailers that
   * this package's client reads).
   */
  close(reason?: CloseReason): void
}

export interface CloseReason {
  readonly code: ErrorCode
  readonly message: string
  readonly orderly?: boolean
  /** How long to wait before the next attempt, in milliseconds. */
  readonly retryAfterMs?: number
}

/**
 * Cold: subscribing connects and emits one open link, and stays open, also when the link ends; unsubscribing closes it
 * (`take(1)` does too); failure to connect errors with a `SpeechError`.
 */
export type Dial<In, Out> = Observable<Link<In, Out>>

/** A message of the recognition socket: JSON as text, audio as bytes (decisions.md). */
export type SocketMessage = string | Uint8Array

/** A message of the dataflow stream, either direction, as the proto has it (service.md 2.2, 2.3). */
export interface DataflowMessage {
  /**
   * 0 AUDIO, 1 EVENT, 2 REQUEST, 3 RESPONSE; any other number is handed on as it came (service.md 2.4). -1 stands for
   * bytes that are no such message: they are in `binaryContent`.
   */
  readonly contentType: number
  readonly content: string
  readonly binaryContent: Uint8Array
}
