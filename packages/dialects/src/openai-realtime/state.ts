import type { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { MachineResult } from 'rxspeech/internal/kernel/machine'
import type { RecognizerMessage, RecognizerRequest } from 'rxspeech/internal/protocol/recognizer-messages'
import type { NamedModel } from 'rxspeech-server/listen/dialect'
import type { ClientEvent, Unreadable } from './client-event.js'
import type { InputFormat, SessionSettings } from './settings.js'
import type { ServerEvent, Speech } from './speech.js'

/** Why a recognition is begun: a message that needs one, or settings that it has to accept. */
export type Begin =
  | { readonly type: 'message'; readonly event: ClientEvent }
  | { readonly type: 'update'; readonly settings: SessionSettings; readonly eventId: string | undefined }

/** While one is begun or ended, no message of the client is read. */
type Recognition =
  | { readonly name: 'none' }
  | { readonly name: 'starting'; readonly begin: Begin }
  | { readonly name: 'running' }
  | { readonly name: 'finishing'; readonly then: 'commit' | 'clear' | Begin }

export interface Live {
  readonly name: 'live'
  readonly settings: SessionSettings
  readonly recognition: Recognition
  readonly speech: Speech
  /** The position in the audio of the session at which the recognition began. */
  readonly originMs: number
  /** Audio before this position is in an item, or was dropped. */
  readonly takenMs: number
  /** Audio that came before the first settings, which some clients send only after `session.created`. */
  readonly early: Uint8Array
  /** Whether audio waits for no settings. */
  readonly hasSettings: boolean
}

export type RealtimeState = Live | { readonly name: 'ended'; readonly result: MachineResult }

/** With the position up to which the recognizer has the audio of the session. */
export type RealtimeInput = { readonly audioMs: number } & (
  | { readonly type: 'client'; readonly event: ClientEvent | Unreadable }
  | { readonly type: 'recognizer'; readonly message: RecognizerMessage }
  /** The client has left, or has sent what ends the session. */
  | { readonly type: 'client-ended'; readonly error: SpeechError | undefined }
  | { readonly type: 'recognizer-ended'; readonly error: SpeechError | undefined }
)

export type RealtimeOutput =
  | { readonly type: 'event'; readonly event: ServerEvent }
  | { readonly type: 'request'; readonly request: RecognizerRequest }

export type RealtimeAction =
  | { readonly type: 'listen' | 'converse' }
  /** The next message of the client is due. */
  | { readonly type: 'next' }
  /** A message is handled again, now that a recognition runs. */
  | { readonly type: 'again'; readonly event: ClientEvent }
  /** Passes audio of this format to the recognizer, first what has waited. */
  | { readonly type: 'take-audio'; readonly format: InputFormat; readonly first: Uint8Array }

export interface RealtimeSession {
  readonly sessionId: string
  readonly settings: SessionSettings
  readonly findModel: (name: string) => NamedModel | undefined
}
