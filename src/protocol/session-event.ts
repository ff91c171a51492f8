import type { ErrorCode } from '../errors/error-table.js'
import type { AnnouncedState } from './states.js'

/** A word, its times in milliseconds since the session's first sample, and its posterior from 0 to 1, if any. */
export interface Word {
  /** The word as recognized. */
  readonly text: string
  /** Where the word begins. */
  readonly startMs: number
  /** Where the word ends. */
  readonly endMs: number
  /** The posterior of the word, 0 to 1; absent if the recognizer has no probability for it. */
  readonly confidence?: number | undefined
}

/**
 * The slots of a sentence by their names: what the tags of a grammar make of it. `rxspeech models types` writes the
 * type of those of a model.
 */
export type Slots = Readonly<Record<string, string | undefined>>

/** The common fields of the results. Other services may send no times and no channel. */
interface Result {
  /** 0 or 1; absent if the service does not send it, as for mono over WebSocket. */
  readonly channel?: number
  /** The id that the service gave the recognition. */
  readonly recognitionId?: string
  /** Milliseconds of audio since the session's first sample. */
  readonly startMs?: number
  /** Milliseconds of audio since the session's first sample, to the end of the text. */
  readonly endMs?: number
  /** The text. A milestone includes the spaces between it and the one before. */
  readonly text: string
}

/** The speech since the last milestone, or since the start; not definitive (PROTOCOL 1). */
export interface PartialEvent extends Result {
  readonly type: 'partial'
  /**
   * How many UTF-16 code units at the beginning of `text` the service does not change any more within the segment;
   * always at the end of a word (PROTOCOL 4.2). The rest may change with the next partial. If a recognizer fails within
   * the segment, or the connection is lost, partials stay away until what is read again has the same words; only a
   * milestone may have others then. @default 0, also if the service sends none
   */
  readonly stableLength?: number
}

/**
 * A definitive piece: all milestones of a channel concatenated as they are give the full text (PROTOCOL 1).
 *
 * @typeParam S the slots of the model, as `rxspeech models types` writes them.
 */
export interface MilestoneEvent<S extends Slots = Slots> extends Result {
  readonly type: 'milestone'
  /** The words of the text, if the service sends them. */
  readonly words?: readonly Word[]
  /** 0 to 1 (PROTOCOL 4.2); absent if the service does not send it. */
  readonly confidence?: number
  /** The slots of the sentence, if tags of the model's grammar set some (PROTOCOL 4.2). */
  readonly slots?: S
  /** Set if the text is the beginning of a sentence whose audio stopped before its end. */
  readonly isIncomplete?: true
}

/**
 * The end of one recognition of a channel. A session has one for each recognition: the service may end one, for example
 * after a silence, and the session continues with the next. So a `final` is not the end of the session, which is its
 * completion. `text` is that of the recognition only; all milestones together are the text of the session.
 */
export interface FinalEvent extends Result {
  readonly type: 'final'
  /** 0 to 1 (PROTOCOL 4.2); absent without speech. */
  readonly confidence?: number
  /**
   * The position up to which the service had read the audio when the recognition ended: all audio before it has its
   * results. Not every service sends it.
   */
  readonly heardMs?: number
  /** The error that ended the recognition, as text; `text` is the recognition's text so far. */
  readonly error?: string
}

/** The answer to a request: Start, Finalize, Stop, Update, recognize, stop-recognition, finalize-recognition. */
export interface ResponseEvent {
  readonly type: 'response'
  /** The request by its name on the wire: `Start`, `recognize`, … */
  readonly request: string
  /** Whether the service granted the request. */
  readonly success: boolean
  /** `operation-result`, unchanged. */
  readonly operationResult: string
  /** The id of the recognition that the request is about; over a WebSocket only. */
  readonly recognitionId?: string
}

/** An event of a node (PROTOCOL 3.3), such as `Speech Started`. */
export interface NodeEvent {
  readonly type: 'event'
  /** The name of the event, as the node chose it. */
  readonly name: string
  /** -1 none, -2 all. */
  readonly channel: number
  /** Milliseconds since the session's first sample; -1 none. */
  readonly startMs: number
  /** The end in milliseconds since the session's first sample; -1 none. */
  readonly endMs: number
  /** Absent if the event is in no group. */
  readonly groupId?: string
  /** Labels that nodes of the project added. */
  readonly tags: readonly string[]
  /** The data of the event; its shape depends on the node. */
  readonly data: unknown
}

/** Audio that the service sends back (PROTOCOL 3.1). */
export interface AudioEvent {
  readonly type: 'audio'
  /** The bytes of one message, in the format of `Audio.Output` of the Start. */
  readonly bytes: Uint8Array
}

/** A state that the session enters; it holds until the next one. */
export type ConnectionEvent = StateEvent | ReconnectingEvent

/** A state that is reported by its name alone. */
export interface StateEvent {
  readonly type: 'connection'
  /** The state, in the order of PROTOCOL 6. */
  readonly state: AnnouncedState
  /** The channel, where one channel of two continues after its `reconnecting`. */
  readonly channel?: number | undefined
  /**
   * With `streaming`, if the session has several services: the number of the one that runs it now, from 0 in the order
   * of the list. Emitted at the beginning and whenever the service changes.
   */
  readonly service?: number | undefined
}

/** The connection was lost, or an attempt to open another one failed; the audio is kept meanwhile. */
export interface ReconnectingEvent {
  readonly type: 'connection'
  readonly state: 'reconnecting'
  /** The attempt that follows, from 1; from 1 again once the service has made progress. */
  readonly attempt: number
  /** Milliseconds until that attempt. */
  readonly delayMs: number
  /** Milliseconds of audio that are held: sent without a definitive result, or not sent yet. */
  readonly bufferedMs: number
  /** What failed. */
  readonly cause: ErrorCode
  /** The channel, if it is only one; stereo over WebSocket runs as two recognitions. */
  readonly channel?: number
}

/**
 * The session continues on another connection, or with another recognition. After a loss the state `streaming` comes
 * right before it. A planned handover to another connection does not change the state.
 */
export interface ResumedEvent {
  readonly type: 'resumed'
  /** Milliseconds of audio that are sent again. */
  readonly replayedMs: number
  /**
   * Set if the connection was not lost: the service ended a recognition that the client did not finalize, and the next
   * one has begun, on the same connection if that is still open.
   */
  readonly isNextRecognition?: true
  /** The channel, if it is only one. */
  readonly channel?: number
}

/** Audio flows and the service has sent nothing for `forMs`. Emitted once until the next message of the service. */
export interface SilentEvent {
  readonly type: 'silent'
  /** Milliseconds without a message. */
  readonly forMs: number
  /** The channel, if it is only one. */
  readonly channel?: number
}

/** Audio that was dropped. */
export interface GapEvent {
  readonly type: 'gap'
  /** Milliseconds of the source's audio, from its first byte. */
  readonly fromMs: number
  /** The end of the dropped audio, in milliseconds from the first byte. */
  readonly toMs: number
  /** Why the audio was dropped. */
  readonly cause: GapCause
  /** The channel, if it is only one; stereo over WebSocket runs as two recognitions. */
  readonly channel?: number
}

/**
 * Why audio was dropped: the bound of a pushed source was reached; the source ended within a sample; the user stopped;
 * the service ended the session normally before the source did; the session failed; audio that was sent and has no
 * result yet exceeded the bound of the replay buffer when the connection broke; it is silence (below -60 dBFS) without
 * a result from a service that ended the recognition, so that no word is lost.
 */
export type GapCause = 'silence' | 'buffer-full' | 'cut-sample' | 'stopped' | 'ended' | 'failed' | 'replay-full'

/**
 * The progress of the captured audio, whenever some of it was finalized, dropped or sent again, and at the end. In
 * milliseconds; `capturedMs = finalizedMs + pendingMs + replayedPendingMs + droppedMs`.
 */
export interface LedgerEvent {
  readonly type: 'ledger'
  /** All audio that came from the source. */
  readonly capturedMs: number
  /** Definitive: the service has sent all results for it. */
  readonly finalizedMs: number
  /** Held, sent or not. */
  readonly pendingMs: number
  /** Held and sent again, because its first connection was lost. */
  readonly replayedPendingMs: number
  /** Reported as `gap`. */
  readonly droppedMs: number
  /** The position up to which the source's audio was sent, from its first byte. */
  readonly sentMs: number
  /**
   * Whether the service sends no times, so that `finalizedMs` is a lower bound, estimated from the arrival of
   * milestones.
   */
  readonly estimated: boolean
  /** The channel, if it is only one. */
  readonly channel?: number
}

/** A message that is not part of the protocol. The session continues. */
export interface UnknownEvent {
  readonly type: 'unknown'
  /** What is wrong with the message, in one sentence. */
  readonly reason: string
  /** The unchanged text, or the number of bytes of a binary message. */
  readonly raw: string | number
}

/**
 * The events of a session, the same over both transports.
 *
 * @typeParam S the slots of the model, as `rxspeech models types` writes them.
 */
export type SessionEvent<S extends Slots = Slots> =
  | ResponseEvent
  | NodeEvent
  | PartialEvent
  | MilestoneEvent<S>
  | FinalEvent
  | AudioEvent
  | ConnectionEvent
  | ResumedEvent
  | SilentEvent
  | GapEvent
  | LedgerEvent
  | UnknownEvent
