import type { Observable } from 'rxjs'
import type { SpeechError } from '../errors/speech-error.js'
import type { Ending } from './protocol.js'
import type { LinePlan } from './connection.js'
import type { SessionSettings } from './options.js'
import type { Updates } from './updates.js'

/** What one kind of session brings: how it connects, what it says there, and what the user asked for. */
export interface SessionPlan<In, Out> extends LinePlan<In, Out> {
  readonly settings: SessionSettings
  readonly ending: Ending
  /** For each session its own: changes that the user asks for while it streams. */
  readonly newUpdates?: () => Updates
  /** Fails the session from without, such as when the other half of a pair has failed. */
  readonly abort$?: Observable<SpeechError>
}
