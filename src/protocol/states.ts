/**
 * The states of a client's session, in the order of a good life, with `reconnecting` beside `streaming`; `stopped` and
 * `failed` are the other ends (decisions.md).
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
export type SessionState = (typeof sessionStates)[number]

/** The states that are told by their name alone; `reconnecting` is told with what it is about. */
export type AnnouncedState = Exclude<SessionState, 'reconnecting'>

/** The states of a session as the service sees it (decisions.md). */
export const serviceStates = ['opened', 'started', 'running', 'flushing', 'ended', 'stopped', 'refused'] as const
export type ServiceState = (typeof serviceStates)[number]
