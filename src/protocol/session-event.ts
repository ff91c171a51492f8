import type { SessionState } from './states.js'

/** A word with its times in milliseconds of audio since the session's first sample, and its posterior from 0 to 1. */
export interface Word {
  readonly text: string
  readonly startMs: number
  readonly endMs: number
  readonly confidence: number
}

/** What every result of recognition carries. A plain service of the description gives no times and no channel. */
interface Result {
  /** 0 or 1; absent when the service does not say (a mono WebSocket service of the description). */
  readonly channel?: number
  readonly recognitionId?: string
  /** Milliseconds of audio since the session's first sample. */
  readonly startMs?: number
  readonly endMs?: number
  readonly text: string
}

/** The speech since the last milestone, or since the start; not definitive (service.md 4.2 rule 4). */
export interface PartialEvent extends Result {
  readonly type: 'partial'
}

/** A definitive piece: all milestones of a channel concatenated as they are give the full text (service.md 4.2 rule 5). */
export interface MilestoneEvent extends Result {
  readonly type: 'milestone'
  readonly words?: readonly Word[]
  readonly confidence?: number
}

/** The end of one recognition, exactly one a channel unless it was stopped. */
export interface FinalEvent extends Result {
  readonly type: 'final'
  /** 0 to 1 (service.md 4.2 rule 6); absent where there was no speech to be confident of. */
  readonly confidence?: number
  /** Where the recognition ended with an error: its text. The recognition's own text so far stands in `text`. */
  readonly error?: string
}

/** The answer to a request: Start, Finalize, Stop, Update, recognize, stop-recognition, finalize-recognition. */
export interface ResponseEvent {
  readonly type: 'response'
  /** What was asked, in the words of the wire: `Start`, `recognize`, … */
  readonly request: string
  readonly success: boolean
  /** `operation-result` as it came. */
  readonly operationResult: string
  readonly recognitionId?: string
}

/** An event of a node (decisions.md: event envelope), such as `Speech Started`. */
export interface NodeEvent {
  readonly type: 'event'
  readonly name: string
  /** -1 none, -2 all. */
  readonly channel: number
  /** Milliseconds since the session's first sample; -1 none. */
  readonly startMs: number
  readonly endMs: number
  readonly groupId?: string
  readonly tags: readonly string[]
  readonly data: unknown
}

/** Audio that the service sends back (decisions.md: StreamOutput with audio). */
export interface AudioEvent {
  readonly type: 'audio'
  readonly bytes: Uint8Array
}

/** What became of the session itself: each state it enters, and audio that had to be dropped, exactly. */
export type ConnectionEvent =
  | { readonly type: 'connection'; readonly state: SessionState }
  | {
      readonly type: 'connection'
      readonly state: 'gap'
      /** Milliseconds of the source's audio, from its first byte. */
      readonly fromMs: number
      readonly toMs: number
      readonly cause: GapCause
      /** The channel that it concerns, where only one is; stereo over WebSocket runs as two recognitions. */
      readonly channel?: number
    }

/**
 * Why audio was not sent: the bound of a pushed source was reached; the source ended within a sample; the user stopped;
 * the service ended the session in good order before the source did; the session failed.
 */
export type GapCause = 'buffer-full' | 'cut-sample' | 'stopped' | 'ended' | 'failed'

/** A message that is not of the protocol: kept, named, and survived. */
export interface UnknownEvent {
  readonly type: 'unknown'
  readonly reason: string
  /** The text as it came, or the number of bytes of a binary message. */
  readonly raw: string | number
}

/** All that a session says, the same over both transports. */
export type SessionEvent =
  ResponseEvent | NodeEvent | PartialEvent | MilestoneEvent | FinalEvent | AudioEvent | ConnectionEvent | UnknownEvent
