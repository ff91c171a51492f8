import type * as kernel from '../kernel/machine.js'
import type { ErrorCode } from '../errors/error-table.js'
import type { SpeechError } from '../errors/speech-error.js'
import type { UpdateRequest } from '../protocol/dataflow-messages.js'
import type { FinalEvent, GapCause, ReconnectingEvent, SessionEvent, StateEvent } from '../protocol/session-event.js'
import type { CurrentToken } from './token.js'
import type { Gap } from './audio/replay-buffer.js'
import type { SessionSettings } from './settings.js'
import type { ControlSignal, Ending } from './protocol.js'
import type { Retries } from './retries.js'

/**
 * The phase of a session.
 * - `isAudioOver`: the source has ended; the session finalizes after sending the buffered audio.
 * - `refusal`: the token was refused as unauthenticated, and a new one is tried, once per connection.
 * - `isResuming`: the session has streamed before; the phases of opening another connection emit no state.
 * - `isReusing`: another recognition starts on the same connection.
 * - `waiting`: waits for the time of the next attempt.
 * - `draining`: as `streaming`, but the source has ended and the rest of the audio is still being sent.
 * - `finalizing`: finalize was requested; `isAcknowledged` after the service has confirmed it.
 * - `closing`: the final arrived before that confirmation, which shows whether it is the requested final.
 * - `paused`: the service has ended a recognition that the client did not finalize. The next one starts with the
 *   next sound, on the same connection if it is still open (`isConnected`).
 * - `stopping`: waits for the answer to a stop.
 * `waiting` is emitted as `reconnecting`; `draining`, `closing`, `paused` and `stopping` emit no state.
 */
export type Phase =
  | { readonly name: 'idle'; readonly isAudioOver: boolean }
  | BeforeStreaming
  | Waiting
  | Paused
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

interface Paused {
  readonly name: 'paused'
  readonly isConnected: boolean
}

/** A connection of the session; its number identifies its lifetime. */
interface SessionConnection {
  readonly id: number
  readonly token: CurrentToken | undefined
  /** The updates that its start message contains. */
  readonly update: UpdateRequest | undefined
}

/** The next connection, which opens while the current one is in use. */
export interface Successor extends SessionConnection {
  /** Whether the service has answered its start, so that it can take over. */
  readonly isReady: boolean
  /** The expiring token, which the next connection must not use. */
  readonly endingToken: string | undefined
}

export interface Handover {
  /** The number of its timer, which first opens the next connection and later forces the handover. */
  readonly id: number
  readonly successor: Successor | undefined
}

export interface ClientState {
  readonly phase: Phase
  /** The number of the current wait; its deadline ends with it. */
  readonly wait: number
  readonly connection: SessionConnection
  /** The last number that was assigned to a connection or a handover. */
  readonly lastId: number
  readonly handover: Handover | undefined
  readonly retries: Retries
  readonly hasStreamed: boolean
  /** When the recognition began, if before the end of the audio, and whether the service ended the one before. */
  readonly recognition: { readonly sinceMs: number; readonly isNext: boolean }
  /** Finals with an error: whether they are emitted depends on how the connection ends. */
  readonly pendingFinals: readonly FinalEvent[]
  /** All updates of the user so far, merged. */
  readonly update: UpdateRequest | undefined
}

export type ConnectionInput = { readonly connection: number } & (
  | { readonly type: 'authorized'; readonly token: CurrentToken }
  /** There was no token, or the connection failed to open or broke. */
  | { readonly type: 'token-failed' | 'link-failed'; readonly error: SpeechError }
  | { readonly type: 'link-ended' }
  | { readonly type: 'connected' }
  /** The connection will end soon, or has broken. */
  | { readonly type: 'leaving' }
  | { readonly type: 'message'; readonly event: SessionEvent; readonly signal?: ControlSignal | undefined }
)

/** What effects post. */
export type ClientInput =
  | ConnectionInput
  | { readonly type: 'begin' }
  | { readonly type: 'stop' | 'audio-over' }
  /** All buffered audio was sent, or some of it. */
  | { readonly type: 'drained' | 'progress' }
  /** Audio that arrived while no recognition runs contains a sound. */
  | { readonly type: 'sound' }
  | { readonly type: 'deadline' | 'handover-due' }
  | { readonly type: 'retry' }
  | { readonly type: 'successor-late' }
  | { readonly type: 'handover-time'; readonly dueMs: number; readonly endingToken: string | undefined }
  | { readonly type: 'gap'; readonly gap: Gap }
  | { readonly type: 'inactive'; readonly forMs: number }
  /** `sum`: all updates of the user so far, merged. */
  | { readonly type: 'update'; readonly update: UpdateRequest; readonly sum: UpdateRequest }
  /** The source, a signal or a callback of the user failed. */
  | { readonly type: 'failed'; readonly error: SpeechError }
  | MessageRead

/** What a message did that was received: answers the output `receive`, unless no decision depends on it. */
export interface MessageRead {
  readonly type: 'read'
  readonly signal: ControlSignal | undefined
  /** The final, if it is held because it has an error. */
  readonly held: FinalEvent | undefined
  /** Whether more audio is definitive than before. */
  readonly hasProgress: boolean
  /** Whether the message is a final, and every channel has its final and nothing after it. */
  readonly isLast: boolean
}

/** The clock, the audio and the results when the turn of an input has come. */
export interface Snapshot {
  readonly nowMs: number
  /** Whether nothing waits to be sent. */
  readonly isSent: boolean
  /** Whether audio was sent on this connection. */
  readonly hasSentAudio: boolean
  /** The start of the audio that is not definitive, if there is any. */
  readonly pendingFromMs: number | undefined
  /** Whether the audio that is not definitive contains a sound. */
  readonly hasSound: boolean
  /** The duration of audio that has become definitive on this connection. */
  readonly progressMs: number
  /** Whether every channel that has results has its final. */
  readonly isWhole: boolean
  /** Whether every channel has a final that arrived after the finalize request. */
  readonly isAnswered: boolean
  /** Whether the service ended the recognition by itself before the end of the audio that was sent. */
  readonly isUnread: boolean
}

/** The inputs that can end a recognition, a connection or the session, or move it to another connection. */
const deciding = [
  'authorized',
  'token-failed',
  'link-ended',
  'link-failed',
  'read',
  'audio-over',
  'deadline',
  'handover-time',
  'handover-due',
  'inactive',
  'stop',
  'failed',
] as const
const decidingTypes: ReadonlySet<string> = new Set(deciding)

type Deciding = Extract<ClientInput, { readonly type: (typeof deciding)[number] }>

/** What the machine decides on: nothing else changes a decision. */
export type ObservedInput = Exclude<ClientInput, Deciding> | (Deciding & { readonly snapshot: Snapshot })

/** Whether decisions on an input depend on the snapshot. */
export const isDeciding = (input: ClientInput): input is Deciding => decidingTypes.has(input.type)

/**
 * Actions on audio and results, and the events to emit, in this order:
 * - `emit`: emits the event unchanged.
 * - `receive`: a message has arrived. Its event is `read`, or not emitted: `held`, because the end of the connection
 *   shows what becomes of it, or `ignored`. A final that only repeats the previous one is not emitted either.
 * - `read`: passes the event through the timeline of results.
 * - `continue-after`: emits what finals that did not end the session add to their milestones.
 * - `begin`: starts a recognition on this connection, with the first audio that is not definitive.
 * - `pause`: keeps only the end of the silence until the next sound.
 * - `expect-finals`: finalize was requested, or refused.
 * - `confirm-finals`: the service has confirmed the request, or answers none of its kind.
 * - `settle`: all audio that was sent is definitive.
 * - `drop`: drops all audio that is not definitive.
 * - `slow`: limits the rate of sending from now on.
 */
export type ClientOutput =
  | ReceiveOutput
  | { readonly do: 'emit'; readonly event: SessionEvent }
  | { readonly do: 'read'; readonly event: SessionEvent }
  | {
      readonly do:
        'pause' | 'expect-finals' | 'confirm-finals' | 'settle' | 'end-audio' | 'report-ledger' | 'close-ledger'
    }
  | { readonly do: 'continue-after'; readonly finals: readonly FinalEvent[] }
  | { readonly do: 'begin'; readonly isNextRecognition: boolean; readonly event?: Pick<StateEvent, 'service'> }
  | { readonly do: 'gap'; readonly gap: Gap }
  | { readonly do: 'drop'; readonly cause: GapCause }
  | { readonly do: 'slow'; readonly speed: 'with bursts' | 'as spoken' }
  | {
      readonly do: 'reconnecting'
      readonly atMs: number
      readonly event: Pick<ReconnectingEvent, 'attempt' | 'delayMs' | 'cause'>
    }

export interface ReceiveOutput {
  readonly do: 'receive'
  readonly event: SessionEvent
  readonly signal: ControlSignal | undefined
  readonly as: 'read' | 'held' | 'ignored'
}

/** The token for a connection: the current one, the next of an expiring one, or another than the refused one. */
export type TokenNeed = 'any' | 'replacement' | { readonly refused: string | undefined }

/** An effect, which runs during its lifetime. */
export type ClientAction =
  | { readonly do: 'begin' | 'watch-signals' | 'watch-updates' | 'capture' | 'listen' }
  | AuthorizeAction
  | { readonly do: 'dial'; readonly connection: number; readonly update: UpdateRequest | undefined }
  | { readonly do: 'start' | 'restart' | 'send-audio' | 'stop'; readonly connection: number }
  | { readonly do: 'finalize'; readonly connection: number; readonly by: Ending['finalizeBy'] }
  | { readonly do: 'send-update'; readonly connection: number; readonly update: UpdateRequest }
  /** `ref`: the timer keeps an otherwise idle process alive. */
  | { readonly do: 'wait'; readonly delayMs: number; readonly input: ClientInput; readonly ref: boolean }

export interface AuthorizeAction {
  readonly do: 'authorize'
  readonly connection: number
  readonly need: TokenNeed
}

export type ClientStep = kernel.Step<ClientState, ClientOutput, ClientAction>
export type ClientEffect = kernel.Effect<ClientAction>

/** Properties of the session and its options that decisions depend on. */
export interface SessionPolicy extends Ending, Pick<SessionSettings, 'deadlines' | 'resumption'> {
  /** Whether the token source may provide another token after a refusal. */
  readonly isTokenRenewable: boolean
  /** Whether the session starts another recognition after the service has ended one by itself. */
  readonly isContinuous: boolean
  /** Errors that also count as temporary, because another service may not have them. */
  readonly temporary?: ReadonlySet<ErrorCode> | undefined
}

/** What decisions depend on besides the state. */
export interface Context {
  readonly policy: SessionPolicy
  readonly snapshot: Snapshot
}
