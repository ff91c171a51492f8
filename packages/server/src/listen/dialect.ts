import type { IncomingMessage, ServerResponse } from 'node:http'
import type { SchedulerLike, Unsubscribable } from 'rxjs'
import type { ModelDescription } from 'rxspeech-engines/engine'
import type { Link, SocketMessage } from 'rxspeech/internal/transport/link'
import type { FaultOptions } from '../sessions/client-error.js'
import type { RequestLimit } from '../sessions/request-limit.js'
import type { HttpRefusal } from './upgrade-request.js'

/** A model that a client may use. */
export type NamedModel = Pick<ModelDescription, 'tenant' | 'name'>

/** The client's end of a conversation with the recognizer (PROTOCOL 4). */
export type Conversation = Link<SocketMessage, SocketMessage>

export interface ConversationOptions {
  /**
   * The audio is a recording that was received as a whole: it is read as fast as the engine takes it. Otherwise it must
   * arrive at the pace of real time, as on the recognition socket. A service that closes lets a recording be read to
   * its end in the time that it has.
   * @default false
   */
  readonly isRecording?: boolean | undefined
  /** Whether the audio may come faster than real time: it is read as fast as the engine takes it. @default isRecording */
  readonly isUnpaced?: boolean | undefined
  /** Whether events report where speech begins and ends, as on the dataflow stream (PROTOCOL 3.3). @default false */
  readonly reportsSpeech?: boolean | undefined
}

/** A client of a dialect whose token was accepted, and its request. */
export interface DialectClient extends Pick<FaultOptions, 'onFault'> {
  /**
   * The id of the request, which its answer has as a header. It is also that of the first session in the log; that of
   * the second one ends with `-2`, and so on.
   */
  readonly sessionId: string
  readonly request: IncomingMessage
  readonly url: URL
  readonly scheduler: SchedulerLike
  /** The tenant of the token, and the address of the client without its port. */
  readonly tenant: string
  readonly address: string
  /** Counts what the client of a socket sends beside audio, as on the recognition socket (PROTOCOL 8). */
  readonly requests: RequestLimit
  /**
   * Aborted when the request or the socket is closed. Its reason is a `SpeechError` if the service ends it: its time
   * to close is over, or the token is no longer valid.
   */
  readonly signal: AbortSignal
  /** The models that the token grants. */
  readonly models: readonly NamedModel[]
  /**
   * The model of a name: one of the service with this name, or the one that the configuration maps it to. Undefined if
   * there is none, or if it is not granted.
   */
  readonly findModel: (name: string) => NamedModel | undefined
  /**
   * Opens a conversation with the recognizer, as a client of the recognition socket does, with all limits of one. It is
   * closed with the request or the socket. A second one at the same time needs a place of its own; without one it rejects
   * with `overloaded`.
   */
  readonly converse: (options?: ConversationOptions) => Promise<Conversation>
}

/** A path of HTTP requests. */
export interface DialectRoute {
  readonly method: 'GET' | 'POST'
  /** The whole path. */
  readonly path: RegExp
  /** Answers a request. Rejects with what `refuse` understands, as long as no answer was begun. */
  readonly answer: (client: DialectClient, response: ServerResponse) => Promise<void>
}

/** A path of WebSockets. */
export interface DialectSocket {
  /** The whole path. */
  readonly path: RegExp
  /**
   * Decides before the socket opens, because many clients see no reason of a close: rejects with what `refuse`
   * understands, or returns what serves the socket. Open the conversation early: it has the limits of a silent client,
   * and its end is that of the service, so close the socket then.
   */
  readonly accept: (client: DialectClient) => Promise<ServeSocket>
}

/** Serves a socket until it is unsubscribed, because the socket is closed. */
export type ServeSocket = (socket: Link<SocketMessage, SocketMessage>) => Unsubscribable

/**
 * The interface of another speech service: a translator between its messages and the conversation with the recognizer.
 * The token was verified and the client admitted before it is called.
 */
export interface Dialect {
  /** As the configuration names it. */
  readonly name: string
  /** The header of all answers with the id of the request, in lower case. */
  readonly requestIdHeader: string
  readonly routes: readonly DialectRoute[]
  readonly sockets: readonly DialectSocket[]
  /**
   * The answer to a request that is refused, in the form that clients of the dialect read: for a `SpeechError` for
   * clients, or an error of the dialect itself. Undefined for any other, which is a fault of the service.
   */
  readonly refuse: (error: unknown, requestId: string) => HttpRefusal | undefined
}
