import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { Effect } from 'rxspeech/internal/kernel/machine'
import type { StartedSession } from '../monitor/session-watch.js'
import type { AudioIntake } from './audio-intake.js'

/** What a conversation runs: one recognition, or the graph of one project. */
export interface ConversationSession {
  readonly intake: AudioIntake
  /** For the operator. */
  readonly facts: StartedSession
  /** Ends at the next pause of the speaker. */
  drain(): void
  /** No more audio follows: the last results are emitted. */
  finish(): void
}

/** The end of a connection, for a cause of the machine's table. */
export interface End<Cause> {
  readonly type: 'end'
  readonly cause: Cause
  /** Absent if the connection ends normally. */
  readonly error?: SpeechError | undefined
}

/** The causes that the tables of both machines have. */
export type CommonCause = 'client-left' | 'revoked' | 'unreadable' | 'too-many-requests' | 'refused-audio' | 'fault'

export type Timeout = 'start' | 'open' | 'idle' | 'session' | 'pause' | 'flush'

/** A message of the client; after each the machine requests the next one. */
export type ClientMessage<Request> =
  | (Request & {
      /** The refusal of a request beyond the limit that does not end the connection yet. */
      readonly excess?: SpeechError | undefined
    })
  /** Audio that no session takes. */
  | { readonly type: 'audio' }
  | End<CommonCause>

export type CommonInput<Request> =
  | { readonly type: 'message'; readonly message: ClientMessage<Request> }
  | { readonly type: 'timeout'; readonly timeout: Timeout }
  | { readonly type: 'drain'; readonly pauseWithinMs: number }
  | End<CommonCause>

/** For the operator. */
export type CommonOutput<Session> =
  | { readonly type: 'started'; readonly session: Session }
  | { readonly type: 'declined' | 'fault'; readonly error: SpeechError }
  | { readonly type: 'flushing' | 'idle' }
  | { readonly type: 'gone' | 'stopped' }

export type CommonAction<Session> =
  /** Takes messages, the drain of the service and the end of the token, if it is known from the beginning. */
  | { readonly type: 'listen' }
  | { readonly type: 'next-message' }
  /** For the time of the service's limits, unless `delayMs` is set. */
  | { readonly type: 'wait'; readonly timeout: Timeout; readonly delayMs?: number | undefined }
  | { readonly type: 'take-audio' | 'drain' | 'finish'; readonly session: Session }

type Wait = Extract<CommonAction<never>, { readonly type: 'wait' }>

export const wait = (lifetime: string, timeout: Timeout, delayMs?: number): Effect<Wait> => ({
  lifetime,
  action: { type: 'wait', timeout, delayMs },
})

export const nextMessage = { lifetime: 'session', action: { type: 'next-message' } } as const

/** A speaker may finish, so that the client continues elsewhere from a pause. */
export const drainAtPause = <Session>(
  session: Session,
  pauseWithinMs: number,
): readonly Effect<CommonAction<Session>>[] => [
  wait('running', 'pause', pauseWithinMs),
  { lifetime: 'running', action: { type: 'drain', session } },
]

export const lateResults = (): SpeechError =>
  new SpeechError('engine-failed', 'The last results did not arrive in time; try again.')
