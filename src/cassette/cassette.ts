import type { AudioFormat } from '../audio/format.js'

/** A recorded session: who said what and when, on each of its connections. */
export interface Cassette {
  readonly header: CassetteHeader
  /** In the order in which they happened. */
  readonly lines: readonly CassetteLine[]
}

/** The first line of the file. */
export interface CassetteHeader {
  readonly version: 1
  readonly transport: CassetteTransport
  /** What the bytes of the source were; the socket carries PCM, whatever they were. */
  readonly format: AudioFormat
  /** ISO 8601, UTC. */
  readonly startedAt: string
  /** Whether audio stands in the lines, or only its SHA-256. */
  readonly audio: AudioKeeping
}

export type CassetteTransport = 'grpc' | 'websocket'
export type AudioKeeping = 'embedded' | 'sha256'

/** What every line but the header has: milliseconds since the session began, never falling. */
interface Timed {
  readonly atMs: number
}

/** What happens on one connection; the first one of a session is 1. */
interface OfConnection extends Timed {
  readonly connection: number
}

/** The client begins to connect. Nothing that could be a secret is in it. */
export interface DialLine extends OfConnection {
  readonly event: 'dial'
  /** The channel that the connection is for, where each has its own. */
  readonly channel?: 0 | 1
  readonly address?: string
  /** The names of the headers, without what they said. */
  readonly headers?: readonly string[]
  readonly protocols?: readonly string[]
}

export interface OpenLine extends OfConnection {
  readonly event: 'open'
}

/** A message: of the client (`sent`) or of the service (`received`). */
export interface MessageLine extends OfConnection, TapedMessage {
  readonly event: 'sent' | 'received'
}

/** The client said that nothing more follows from it (gRPC half-close). */
export interface FinishLine extends OfConnection {
  readonly event: 'finish'
}

/** The end of a connection: by the client (`close`), by the service or the network (`ended`), or before it was open (`dial-failed`). */
export interface EndingLine extends OfConnection, Reason {
  readonly event: 'close' | 'ended' | 'dial-failed'
}

/** Lines that the sink was too slow for: they are missing here. */
export interface LostLine extends Timed {
  readonly event: 'lost'
  readonly lines: number
  readonly bytes: number
}

/** The last line: how the session ended. Where it is missing, the recording was cut off. */
export interface EndLine extends Timed, Reason {
  readonly event: 'end'
  readonly outcome: 'complete' | 'error' | 'unsubscribed'
}

/** Why something ended; without a code in good order. */
export interface Reason {
  readonly code?: string
  readonly message?: string
}

export type ConnectionLine = DialLine | OpenLine | MessageLine | FinishLine | EndingLine
export type CassetteLine = ConnectionLine | LostLine | EndLine

/** A message of either transport, as it is kept. */
export interface TapedMessage {
  /** service.md 2.4; gRPC only. */
  readonly contentType?: number
  /** JSON as it was said, with secrets replaced. */
  readonly text?: string
  /** The length of binary content, which then stands in one of the next two. */
  readonly bytes?: number
  readonly base64?: string
  /** Of the bytes, in hexadecimal digits. */
  readonly sha256?: string
}

/** What stands for a secret. */
export const redacted = '[redacted]'
