import type { SessionEvent } from '../../src/protocol/session-event.js'

/**
 * What happens to the connection of a session: the state that it enters, or the event that has no state, by its name.
 */
export const happeningsOf = (event: SessionEvent): readonly string[] => {
  if (event.type === 'connection') return [event.state]
  return event.type === 'resumed' || event.type === 'silent' || event.type === 'gap' ? [event.type] : []
}
