import { Observable, type ObservableInput } from 'rxjs'
import type { SessionEvent } from '../protocol/session-event.js'
import { checkSource } from './audio/audio-feed.js'
import { Session } from './session.js'
import type { SessionPlan } from './session-plan.js'

/**
 * Cold: each subscription is one session over one subscription of the source; unsubscribing aborts it at once.
 * Throws `invalid-options` for a source that is none.
 */
export const openSession = <In, Out>(
  plan: SessionPlan<In, Out>,
  source: ObservableInput<Uint8Array>,
): Observable<SessionEvent> => {
  checkSource(source)
  return new Observable((subscriber) => {
    const session = new Session(plan, source, subscriber)
    // Not returned: a consumer may unsubscribe while the session begins.
    subscriber.add(() => session.release())
    session.begin()
  })
}
