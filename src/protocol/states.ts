/**
 * The states of a client's session, in the order of a session without errors, with `reconnecting` beside `streaming`;
 * `stopped` and `failed` are the other ends (PROTOCOL 6).
 */
export const sessionStates = [
  'idle',
  'authorizing',
  'connecting',
  'starting',
  'streaming',
  'reconnecting',
  'finalizing',
  'done',
  'stopped',
  'failed',
] as const
/** A state of a session, as `connection` events report it (PROTOCOL 6). */
export type SessionState = (typeof sessionStates)[number]

/** Whether a session is over. */
export const isEndState = (state: SessionState): boolean =>
  state === 'done' || state === 'stopped' || state === 'failed'

/** The states that are reported by their name alone; a `ReconnectingEvent` has more fields. */
export type AnnouncedState = Exclude<SessionState, 'reconnecting'>
