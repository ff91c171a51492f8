import type * as kernel from '../kernel/machine.js'
import type { SpeechError } from '../errors/speech-error.js'
import type { UpdateRequest } from '../protocol/dataflow-messages.js'
import type { FinalEvent, GapCause, SessionEvent } from '../protocol/session-event.js'
import type { TokenInHand } from './token.js'
import type { Gap } from './audio/replay-buffer.js'
import type { SessionSettings } from './settings.js'
import type { ControlSignal, Ending } from './protocol.js'
import type { Retries } from './retries.js'

/**
 * Where a session stands.
 * - `isAudioOver`: the source has ended, so that finalizing follows once the buffered audio is sent.
 * - `refusal`: the token was refused as unauthenticated and another one is tried, once for each connection.
 * - `isResuming`: the session has streamed before; the steps to another connection are not announced.
 * - `isReusing`: another recognition starts on a connection that had one.
 * - `waiting`: for the time of the next attempt.
 * - `draining`: as `streaming`, but the source has ended and the link still has to take the rest of the audio.
 * - `finalizing`: the service was asked to finalize; `isAcknowledged` once it has answered that it does.
 * - `closing`: the final came before that answer, which shows whether it is the final that was asked for.
 * - `resting`: the service has ended a recognition that nobody finalized. The next one starts with the next sound, on the
 *   same connection while that is open (`isConnected`).
 * - `stopping`: waits for the answer to a stop.
 * `waiting` is announced as `reconnecting`; `draining`, `closing`, `resting` and `stopping` are not announced.
 */
export type Phase =
  | { readonly name: 'idle'; readonly isAudioOver: boolean }
  | BeforeStreaming
  | Waiting
  | Resting
  | { readonly name: 'finalizing'; readonly isAcknowledged: boolean }
  | { readonly name: 'streaming' | 'draining' | 'closing' | 'stopping' | 'done' | 'stopped' }
  | { readonly name: 'failed'; readonly error: SpeechError }

export interface BeforeStreaming {
  readonly name: 'authorizing' | 'connecting' | 'starting'
  readonly isAudioOver: boolean
  readonly refusal: SpeechError | undefined
  readonly isResuming: boolean
  readonly isReusing: boolean
}

export interface Waiting {
  readonly name: 'waiting'
  readonly isAudioOver: boolean
  readonly refusal: SpeechError | undefined
  readonly delayMs: number
}

interface Resting {
  readonly name: 'resting'
  readonly isConnected: boolean
}

/** A connection of the session; the number names its lifetime. */
interface SessionConnection {
  readonly id: number
  readonly token: TokenInHand | undefined
  /** The updates that its start contains. */
  readonly update: UpdateRequest | undefined
}

/** The next connection, which opens while the present one still serves. */
export interface Successor extends SessionConnection {
  /** The service has answered its start: it can take over. */
  readonly isReady: boolean
  /** The token that ends; another connection with it would end as well. */
  readonly endingToken: string | undefined
}

export interface Handover {
  /** The number of its timer, which opens the successor, and then hands over at the latest. */
  readonly id: number
  readonly successor: Successor | undefined
}

export interface ClientState {
  readonly phase: Phase
  /** Counts the waits, whose deadlines end with them. */
  readonly wait: number
  readonly connection: SessionConnection
  /** The number that was given last to a connection or a handover. */
  readonly lastId: number
  readonly handover: Handover | undefined
  readonly retries: Retries
  readonly hasStreamed: boolean
  /** When the recognition began, and whether it followed one that the service had ended by itself. */
  readonly recognition: { readonly sinceMs: number; readonly isNext: boolean }
  /** Finals with an error: whether they are emitted depends on how the connection ends. */
  readonly pendingFinals: readonly FinalEvent[]
  /** All updates of the user so far, as one. */
  readonly update: UpdateRequest | undefined
}

export type ConnectionInput = { readonly connection: number } & (
  | { readonly type: 'authorized'; readonly token: TokenInHand }
  /** There was no token; or the connection was not made, or broke. */
  | { readonly type: 'token-failed' | 'link-failed'; readonly error: SpeechError }
  | { readonly type: 'connected' | 'link-ended' }
  /** The connection ends soon, or has broken. */
  | { readonly type: 'leaving' }
  | { readonly type: 'message'; readonly event: SessionEvent; readonly signal?: ControlSignal | undefined }
)

export type ClientInput =
  | ConnectionInput
  | { readonly type: 'begin' | 'stop' | 'audio-over' }
  /** Nothing of the buffered audio waits any more; or some of it was sent. */
  | { readonly type: 'drained' | 'progress' }
  /** There is a sound in audio that came while no recognition runs. */
  | { readonly type: 'sound' }
  | { readonly type: 'deadline' | 'retry' | 'handover-due' | 'successor-late' }
  | { readonly type: 'handover-time'; readonly dueMs: number; readonly endingToken: string | undefined }
  | { readonly type: 'gap'; readonly gap: Gap }
  | { readonly type: 'inactive'; readonly forMs: number }
  | { readonly type: 'update'; readonly update: UpdateRequest }
  /** The source, a signal or something else of the user's failed. */
  | { readonly type: 'failed'; readonly error: SpeechError }
  | MessageRead

/** Raised behind a message whose event has reached the timeline of results, unless it was held or ignored. */
export interface MessageRead {
  readonly type: 'read'
  readonly isOnTimeline: boolean
  readonly isFinal: boolean
  readonly signal: ControlSignal | undefined
}

/**
 * What happens to audio and results, and what is emitted of it, in this order:
 * - `emit`: the event as it is.
 * - `activity`: the service has sent something.
 * - `read`: the event as it continues the timeline of results.
 * - `repeated-final`, `hold-final`: the final is not emitted, as it repeats the one before it, or may not end the session.
 * - `continue-after`: what finals that did not end the session add to their milestones.
 * - `begin`: a recognition starts on this connection, with the first audio that is not definitive.
 * - `rest`: of silence only the end is kept.
 * - `expect-finals`: the service is asked to finalize.
 * - `settle`: all that was sent is definitive.
 * - `drop`: all that is not definitive is dropped.
 * - `slow`: audio is sent no faster than this from now on.
 */
export type ClientOutput =
  | { readonly do: 'emit'; readonly event: SessionEvent }
  | { readonly do: 'read'; readonly event: SessionEvent }
  | { readonly do: 'activity' | 'rest' | 'expect-finals' | 'settle' | 'end-audio' | 'report-ledger' | 'close-ledger' }
  | { readonly do: 'repeated-final' | 'hold-final'; readonly event: FinalEvent }
  | { readonly do: 'continue-after'; readonly finals: readonly FinalEvent[] }
  | { readonly do: 'begin'; readonly isNextRecognition: boolean }
  | { readonly do: 'gap'; readonly gap: Gap }
  | { readonly do: 'drop'; readonly cause: GapCause }
  | { readonly do: 'slow'; readonly speed: 'with bursts' | 'as spoken' }
  | {
      readonly do: 'reconnecting'
      readonly attempt: number
      readonly delayMs: number
      readonly cause: SpeechError['code']
    }

/** Which token a connection needs: the one in hand, one that replaces an ending one, or another one than the refused one. */
export type TokenNeed = 'any' | 'replacement' | { readonly refused: string | undefined }

/** What runs beside the machine while its lifetime lasts. */
export type ClientAction =
  | { readonly do: 'begin' | 'watch-signals' | 'watch-updates' | 'capture' | 'listen' }
  | { readonly do: 'authorize'; readonly connection: number; readonly need: TokenNeed }
  | { readonly do: 'dial'; readonly connection: number; readonly update: UpdateRequest | undefined }
  | { readonly do: 'start' | 'restart' | 'send-audio' | 'finalize' | 'stop'; readonly connection: number }
  | { readonly do: 'send-update'; readonly connection: number; readonly update: UpdateRequest }
  /** `ref`: the timer keeps an otherwise idle process alive. */
  | { readonly do: 'wait'; readonly delayMs: number; readonly input: ClientInput; readonly ref: boolean }

export type ClientStep = kernel.Step<ClientState, ClientOutput, ClientAction, ClientInput>
export type ClientEffect = kernel.Effect<ClientAction>

/** What the session's kind and its options say about decisions. */
export interface SessionPolicy extends Ending, Pick<SessionSettings, 'deadlines' | 'resumption'> {
  /** Whether the token source may have another token when one is refused. */
  readonly isTokenRenewable: boolean
  /** Whether a recognition that the service ends by itself is followed by another one. */
  readonly isContinuous: boolean
}

/** What decisions depend on of the audio and its results, looked up where it is needed. */
export interface SessionFacts {
  readonly nowMs: number
  /** Whether nothing waits to be sent. */
  readonly isSent: boolean
  /** Whether audio was sent on this connection. */
  readonly hasSentAudio: boolean
  /** Where the audio begins that is not definitive, where there is some. */
  readonly pendingFromMs: number | undefined
  /** Whether there is a sound in what is not definitive. */
  readonly hasSound: boolean
  /** How much audio has become definitive on this connection. */
  readonly progressMs: number
  /** Whether the event that was read last made more audio definitive. */
  readonly hasProgress: boolean
  /** Whether every channel has its final, and nothing after it. */
  readonly isFinal: boolean
  /** Whether every channel that has results has its final. */
  readonly isWhole: boolean
  /** Whether every channel has a final that came after the service was asked to finalize. */
  readonly isAnswered: boolean
  /** Whether the service had ended by itself before the end of the audio that it was sent. */
  readonly isUnread: boolean
  /** Whether a final only repeats the one before it on its channel. */
  isRepeated(final: FinalEvent): boolean
}
