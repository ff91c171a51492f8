import type { SpeechError } from '../errors/speech-error.js'
import type { GapCause } from '../protocol/session-event.js'
import type { AnnouncedState } from '../protocol/states.js'
import type { Ending, ControlSignal } from './protocol.js'

/**
 * Where a session stands.
 * - `audioOver`: the source has ended, so that finalizing follows once the audio held back is sent.
 * - `refusal`: the token was refused as unauthenticated and another one is tried; that happens once a connection.
 * - `resuming`: the session has streamed before; the steps to another connection are not told by their names.
 * - `reusing`: what is started is another recognition on a connection that had one.
 * - `waiting`: for the time of the next attempt.
 * - `draining`: as `streaming`, but the source has ended and the link still has to take the rest of the audio.
 * - `finalizing`: the end of the audio was said; `answered` once the service has said that it finalizes.
 * - `closing`: the final came before that answer, which tells whether it is the one that was asked for.
 * - `resting`: the service has ended a recognition that nobody finalized. The next one begins when there is something to
 *   be heard, on the same connection where that is still `connected`.
 * - `stopping`: waits for the answer to a stop.
 * `waiting` is told as `reconnecting`; `draining`, `closing`, `resting` and `stopping` have no name on the outside.
 */
export type MachineState =
  | { readonly name: 'idle'; readonly audioOver: boolean }
  | BeforeStreaming
  | { readonly name: 'waiting'; readonly audioOver: boolean; readonly refusal: SpeechError | undefined }
  | Resting
  | { readonly name: 'finalizing'; readonly answered: boolean }
  | { readonly name: 'streaming' | 'draining' | 'closing' | 'stopping' | 'done' | 'stopped' | 'failed' }

export interface Resting {
  readonly name: 'resting'
  readonly audioOver: boolean
  readonly connected: boolean
}

export interface BeforeStreaming {
  readonly name: 'authorizing' | 'connecting' | 'starting'
  readonly audioOver: boolean
  readonly refusal: SpeechError | undefined
  readonly resuming: boolean
  readonly reusing?: true
}

export type MachineInput =
  | {
      readonly type:
        'begin' | 'connected' | 'drained' | 'progress' | 'stop' | 'link-ended' | 'retry' | 'succeed' | 'taken-over'
    }
  /** Something is to be heard in audio that came while no recognition runs; or every channel has its final. */
  | { readonly type: 'sound' | 'all-final' }
  /** A wait is over; from `pendingFromMs` on the audio has no definitive result, where some has none. */
  | { readonly type: 'deadline'; readonly pendingFromMs?: number }
  /** A token is there; `fresh` unless it is the one that was refused before. */
  | { readonly type: 'authorized'; readonly fresh: boolean }
  /** The source has ended and nothing of its audio is held back any more (`drained`), or some is. */
  | { readonly type: 'audio-over'; readonly drained: boolean }
  | { readonly type: 'heard'; readonly meaning: ControlSignal }
  /** There was no token; or the connection was not made, or broke. */
  | { readonly type: 'token-failed' | 'link-failed'; readonly error: SpeechError }
  /** Something of the user's failed: the source, a signal; or there is no time for another attempt. */
  | { readonly type: 'failed'; readonly error: SpeechError }

/**
 * What the session has to do, in this order. `tell`: the finals that were held back; `settle`: all that was sent has its
 * results; `rest`: no audio on this connection, and of silence only the end is kept; `restart`: another recognition on
 * this connection; `slow`: audio goes no faster than speech from now on; `extend`: the deadline of the state begins anew.
 */
export type Command =
  | {
      readonly do:
        | 'authorize'
        | 'renew'
        | 'dial'
        | 'start'
        | 'stream'
        | 'succeed'
        | 'rest'
        | 'restart'
        | 'leave'
        | 'slow'
        | 'settle'
        | 'finalize'
        | 'stop'
        | 'tell'
        | 'extend'
        | 'complete'
    }
  | { readonly do: 'announce'; readonly state: AnnouncedState }
  | { readonly do: 'drop'; readonly cause: GapCause }
  | { readonly do: 'reconnect' | 'fail'; readonly error: SpeechError }

export interface Step {
  readonly state: MachineState
  readonly commands: readonly Command[]
}

/** What the machine has to know of a dialogue, of the token source and of the user's wishes. */
export interface ProtocolTraits extends Ending {
  /** Whether the token source may have another token when one is refused. */
  readonly renews: boolean
  /** Whether a lost connection is followed by another one. */
  readonly resumes: boolean
  /** Whether a recognition that the service ends by itself is followed by another one. */
  readonly continuous: boolean
}

/** What the machine has to know of the audio and its results, where the service ends a recognition. */
export interface Standing {
  /** Whether every channel that has results has its final. */
  readonly isWhole: boolean
  /** Whether every channel has a final that came after the end of the audio was said. */
  readonly isAnswered: boolean
  /** Whether something is to be heard in what has no definitive result. */
  readonly hasSound: boolean
  /** Whether the service had ended by itself before the end of the audio that it was told of. */
  readonly isUnread: boolean
  /** Whether the recognition brought the session forward; a service that ends each at once must not be asked for ever. */
  readonly hasProgress: boolean
}
