import type { AudioFormat } from '../../audio/format.js'
import { SpeechError } from '../../errors/speech-error.js'

/** A recorded session: the messages in both directions with their times, on each of its connections. */
export interface Cassette {
  /** What was recorded, when, and in which format. */
  readonly header: CassetteHeader
  /** In the order in which they happened. */
  readonly lines: readonly CassetteLine[]
}

/** The first line of the file. */
export interface CassetteHeader {
  readonly version: 1
  /** The transport of all connections. */
  readonly transport: CassetteTransport
  /** The format of the audio source. The WebSocket carries 16-bit PCM in any case (PROTOCOL 4). */
  readonly format: AudioFormat
  /** ISO 8601, UTC. */
  readonly startedAt: string
  /** Whether the lines contain the audio or only its SHA-256. */
  readonly audio: AudioStorage
}

/** `grpc` for sessions of `dataflow`, `websocket` for those of `recognize`. */
export type CassetteTransport = 'grpc' | 'websocket'
/** `embedded`: the file contains the audio, in base64. `sha256`: only the hash of each message. */
export type AudioStorage = 'embedded' | 'sha256'

/** The field of every line except the header. */
interface Timed {
  /** Milliseconds since the session began; never less than in the line before. */
  readonly atMs: number
}

/** An event of one connection. */
interface OfConnection extends Timed {
  /** From 1, in the order in which they were dialled. */
  readonly connection: number
}

/** The client begins to connect. Secrets are omitted. */
export interface DialLine extends OfConnection {
  readonly event: 'dial'
  /** The audio channel of the connection, if each channel has its own. */
  readonly channel?: 0 | 1 | undefined
  /** The address of the service, without secrets. */
  readonly address?: string | undefined
  /** The names of the headers, without their values. */
  readonly headers?: readonly string[] | undefined
  /** The offered subprotocols of a WebSocket, without tokens. */
  readonly protocols?: readonly string[] | undefined
}

/** The connection is open. */
export interface OpenLine extends OfConnection {
  readonly event: 'open'
}

/** A message of the client (`sent`) or of the service (`received`). */
export interface MessageLine extends OfConnection, RecordedMessage {
  /** The direction of the message. */
  readonly event: 'sent' | 'received'
}

/** The client half-closed the connection (gRPC). */
export interface FinishLine extends OfConnection {
  readonly event: 'finish'
}

/** A connection ended: by the client (`close`), by service or network (`ended`), or it never opened (`dial-failed`). */
export interface EndingLine extends OfConnection, Reason {
  /** Who ended the connection. */
  readonly event: 'close' | 'ended' | 'dial-failed'
}

/** Stands for lines that are missing because the sink was too slow. */
export interface LostLine extends Timed {
  readonly event: 'lost'
  /** How many lines are missing. */
  readonly lines: number
  /** The length of these lines. */
  readonly bytes: number
}

/** The last line: how the session ended. A file without it was cut off. */
export interface EndLine extends Timed, Reason {
  readonly event: 'end'
  /** How the session ended for its subscriber. */
  readonly outcome: 'complete' | 'error' | 'unsubscribed'
}

/** Why something ended; a normal end has no code. */
export interface Reason {
  /** A code of `errorTable`; absent at a normal end. */
  readonly code?: string | undefined
  /** The message of the error. */
  readonly message?: string | undefined
}

/** A line about one connection. */
export type ConnectionLine = DialLine | OpenLine | MessageLine | FinishLine | EndingLine
/** A line of a cassette, behind its header. */
export type CassetteLine = ConnectionLine | LostLine | EndLine

/** The content of a message of either transport. */
export interface RecordedMessage {
  /** gRPC only (PROTOCOL 3). */
  readonly contentType?: number | undefined
  /** JSON as it was sent, with secrets replaced. */
  readonly text?: string | undefined
  /** The length of binary content; `base64` or `sha256` is then present. */
  readonly bytes?: number | undefined
  /** The bytes. */
  readonly base64?: string | undefined
  /** The hash of the bytes, in hexadecimal digits. */
  readonly sha256?: string | undefined
}

/** Replaces a secret. */
export const redacted = '[redacted]'

/** The lines of one connection. */
export interface RecordedConnection {
  readonly dial: DialLine
  /** Absent if the connection never opened. */
  readonly open?: OpenLine | undefined
  /** All other lines. */
  readonly lines: readonly LocatedLine[]
}

export interface LocatedLine {
  /** The line number in a file without empty lines; the header is line 1. */
  readonly number: number
  readonly line: Exclude<ConnectionLine, DialLine | OpenLine>
}

/** The connections in the order in which they were dialled. */
export const connectionsOf = ({ lines }: Cassette): readonly RecordedConnection[] => {
  const connections = new Map<number, { dial: DialLine; open?: OpenLine; lines: LocatedLine[] }>()
  for (const [index, line] of lines.entries()) {
    if (line.event === 'lost' || line.event === 'end') continue
    if (line.event === 'dial') connections.set(line.connection, { dial: line, lines: [] })
    const connection = connections.get(line.connection)
    if (connection === undefined || line.event === 'dial') continue
    if (line.event === 'open') connection.open = line
    else connection.lines.push({ number: index + 2, line })
  }
  return [...connections.values()]
}

/** Throws `invalid-options` for a cassette with lost lines; `remedy` says what to do instead. */
export const requireComplete = ({ lines }: Cassette, remedy: string): void => {
  const index = lines.findIndex(({ event }) => event === 'lost')
  if (index === -1) return
  throw new SpeechError('invalid-options', `Lines were lost at line ${index + 2} of the cassette; ${remedy}.`)
}
