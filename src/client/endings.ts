import { codesWith } from '../errors/error-table.js'
import type { SpeechError } from '../errors/speech-error.js'
import type { ClientState, Phase, Snapshot, SessionPolicy } from './states.js'

/** The causes that can end a recognition, a connection or a session. */
export type EndCause = keyof typeof endings

/**
 * - `stay`: nothing changes.
 * - `resume`: the session continues on another connection, a ready successor or the next attempt. It fails when the
 *   budget is used up. Without resumption the row `permanent` applies.
 * - `renew`: another connection opens with another token.
 * - `reopen`: the next recognition starts on another connection, without a delay.
 * - `disconnect`: the next recognition will need another connection.
 * - `follow`: the service has ended the recognition by itself; `afterRecognition` decides what follows.
 * - `hand-over`: the successor takes over.
 * - `close`: waits for the service to confirm that the final is the requested one.
 * - `finish`: the session is done; all audio that was sent has its results.
 * - `complete`: the session is done; audio without results is a gap.
 * - `silence`: the session is done; the rest of the audio has no sound.
 * - `ask`: asks the service to stop.
 * - `stopped`, `stopped-after-final`: the session is stopped.
 * - `fail`: the session fails with the error.
 */
type Ending =
  | 'stay'
  | 'resume'
  | 'renew'
  | 'reopen'
  | 'disconnect'
  | 'follow'
  | 'hand-over'
  | 'close'
  | 'finish'
  | 'complete'
  | 'silence'
  | 'ask'
  | 'stopped'
  | 'stopped-after-final'
  | 'fail'

/**
 * What follows a recognition that the service has ended by itself.
 * - `complete`: the session is done, because it has one recognition.
 * - `silence`: as above.
 * - `pause`: the next recognition waits for a sound.
 * - `next`: the next recognition starts.
 * - `retry`: the recognition made no progress, which counts as a lost connection.
 */
type Following = 'complete' | 'silence' | 'pause' | 'next' | 'retry'

/**
 * The groups of phases that end alike, with their column in the table.
 * - `idle`: there is no connection (`idle`, `waiting`).
 * - `opening`, `reopening`: the first connection opens, or a later one (`authorizing`, `connecting`, `starting`).
 * - `reusing`: another recognition starts on the same connection.
 * - `sending`: `streaming` and `draining`.
 */
const columns = {
  idle: 0,
  opening: 1,
  reopening: 2,
  reusing: 3,
  paused: 4,
  sending: 5,
  finalizing: 6,
  closing: 7,
  stopping: 8,
} as const

type Endings = readonly [Ending, Ending, Ending, Ending, Ending, Ending, Ending, Ending, Ending]

/**
 * How a recognition, a connection or a session ends, by cause and group of phases.
 *
 * A connection that is lost has one of four causes (`causeOfLoss`):
 * - `temporary`: the service speaks the protocol, but has not decided on the request.
 * - `retryable`: any other retryable error.
 * - `token-refused`: the service refused the token, which can be replaced.
 * - `permanent`: no other connection would help.
 *
 * The others:
 * - `closed`: the service closed the connection without an error, before the last results.
 * - `answered`: the service has confirmed the finalize request, or has closed the connection after all of its finals.
 * - `recognition-over`: the service has ended a recognition that the client did not finalize; every channel has its
 *   final.
 * - `session-ended`: the service says that the recognition has ended, or confirms a stop.
 * - `audio-over`: the source has ended while no recognition runs.
 * - `deadline`: the service or the token source did not answer in time. `streaming`, `paused` and `idle` have no
 *   deadline.
 * - `handover`: the successor is ready, and progress was made or the handover is due.
 * - `stop`: the user stops the session; `stop-unsendable` if the client cannot send the request any more.
 * - `failed`: the source, a signal or a callback of the user failed, or the service refused the stop.
 */
// prettier-ignore
export const endings = {
  //                   idle       opening    reopening  reusing    paused        sending      finalizing  closing                stopping
  'temporary':        ['fail',    'resume',  'resume',  'reopen',  'disconnect', 'resume',    'resume',   'resume',              'fail'],
  'retryable':        ['fail',    'fail',    'resume',  'reopen',  'disconnect', 'resume',    'resume',   'resume',              'fail'],
  'token-refused':    ['fail',    'renew',   'renew',   'renew',   'disconnect', 'resume',    'resume',   'resume',              'fail'],
  'permanent':        ['fail',    'fail',    'fail',    'fail',    'disconnect', 'fail',      'fail',     'complete',            'fail'],
  'closed':           ['fail',    'fail',    'fail',    'reopen',  'disconnect', 'resume',    'resume',   'finish',              'stopped'],
  'answered':         ['stay',    'stay',    'stay',    'stay',    'stay',       'stay',      'finish',   'finish',              'stay'],
  'recognition-over': ['stay',    'stay',    'stay',    'stay',    'stay',       'follow',    'follow',   'follow',              'stay'],
  'session-ended':    ['stay',    'stay',    'stay',    'stay',    'stay',       'follow',    'close',    'stay',                'stopped'],
  'audio-over':       ['stay',    'stay',    'stay',    'stay',    'silence',    'stay',      'stay',     'stay',                'stay'],
  'deadline':         ['stay',    'fail',    'resume',  'reopen',  'stay',       'fail',      'fail',     'finish',              'fail'],
  'handover':         ['stay',    'stay',    'stay',    'stay',    'stay',       'hand-over', 'stay',     'stay',                'stay'],
  'stop':             ['stopped', 'stopped', 'stopped', 'stopped', 'stopped',    'ask',       'ask',      'stopped-after-final', 'stay'],
  'stop-unsendable':  ['stopped', 'stopped', 'stopped', 'stopped', 'stopped',    'stopped',   'stopped',  'stopped-after-final', 'stay'],
  'failed':           ['fail',    'fail',    'fail',    'fail',    'fail',       'fail',      'fail',     'fail',                'fail'],
} as const satisfies Readonly<Record<string, Endings>>

/**
 * How pending finals are resolved.
 * - `keep`: they remain pending.
 * - `emit`: no later result can replace them.
 * - `continue`: the next recognition continues their text; what they add to the milestones is emitted as milestones.
 *   They remain pending until it begins.
 * - `drop`: a stopped session emits no results.
 */
export type Fate = 'keep' | 'emit' | 'continue' | 'drop'

export const fates: Readonly<Record<Exclude<Ending, 'follow'> | Following, Fate>> = {
  stay: 'keep',
  close: 'keep',
  ask: 'keep',
  disconnect: 'keep',
  renew: 'keep',
  reopen: 'keep',
  resume: 'continue',
  'hand-over': 'continue',
  pause: 'continue',
  next: 'continue',
  retry: 'continue',
  finish: 'emit',
  complete: 'emit',
  silence: 'emit',
  fail: 'emit',
  'stopped-after-final': 'emit',
  stopped: 'drop',
}

/** The ending of a cause in a state that has not ended. */
export const endingOf = (
  state: ClientState,
  cause: EndCause,
  policy: SessionPolicy,
  snapshot: Snapshot,
): keyof typeof fates => {
  const column = columns[groupOf(state.phase)]
  const ending: Ending = endings[cause][column]
  // Without the answer to the finalize request the final may have crossed it.
  const isCrossed = ending === 'finish' && cause !== 'answered' && snapshot.isUnread
  if (ending === 'follow' || isCrossed) return afterRecognition(state, policy, snapshot)
  const decided = ending === 'resume' && policy.resumption === undefined ? endings.permanent[column] : ending
  // The next recognition would have read the rest.
  return decided === 'complete' && policy.isContinuous && snapshot.isUnread ? 'fail' : decided
}

const groupOf = (phase: Phase): keyof typeof columns => {
  switch (phase.name) {
    case 'authorizing':
    case 'connecting':
    case 'starting':
      return isReusing(phase) ? 'reusing' : phase.isResuming ? 'reopening' : 'opening'
    case 'streaming':
    case 'draining':
      return 'sending'
    case 'paused':
    case 'finalizing':
    case 'closing':
    case 'stopping':
      return phase.name
    default:
      return 'idle'
  }
}

/** Whether another recognition starts on a connection that already had one. */
const isReusing = (phase: Phase): boolean => phase.name === 'starting' && phase.isReusing

const temporaryCodes = codesWith('temporary')

/** The cause of a connection that failed to open or broke, or of a session that the service ended with an error. */
export const causeOfLoss = (phase: Phase, error: SpeechError, policy: SessionPolicy): EndCause => {
  if (isTokenRefused(phase, error, policy)) return 'token-refused'
  if (policy.temporary?.has(error.code)) return 'temporary'
  if (!error.retryable) return 'permanent'
  return temporaryCodes.has(error.code) ? 'temporary' : 'retryable'
}

/** While a connection opens, a token is replaced once. In `authorizing` the error is that of the token source. */
const isTokenRefused = (phase: Phase, { code }: SpeechError, { isTokenRenewable }: SessionPolicy): boolean =>
  code === 'unauthenticated' &&
  isTokenRenewable &&
  phase.name !== 'authorizing' &&
  !('refusal' in phase && phase.refusal !== undefined)

/** The cause of a connection that the service closed without an error. */
export const causeOfClose = (phase: Phase, policy: SessionPolicy, snapshot: Snapshot): EndCause => {
  const isRunning = phase.name === 'streaming' || phase.name === 'draining' || phase.name === 'finalizing'
  if (!isRunning || policy.endsWith !== 'end-of-stream' || !snapshot.isWhole) return 'closed'
  // Some services send their finals but no answer to the request.
  const isAnswer =
    phase.name === 'finalizing' && (phase.isAcknowledged || policy.finalizeBy === 'half-close' || snapshot.isAnswered)
  return isAnswer && !snapshot.isUnread ? 'answered' : 'recognition-over'
}

/** A recognition counts as progress if it lasted this long or made this much audio definitive. */
const progressAfterMs = 10_000
const progressOfMs = 200

const afterRecognition = (
  { phase, recognition }: ClientState,
  { isContinuous }: SessionPolicy,
  snapshot: Snapshot,
): Following => {
  if (!isContinuous) return 'complete'
  if (!snapshot.hasSound) return phase.name === 'streaming' ? 'pause' : 'silence'
  const hasProgress = snapshot.nowMs - recognition.sinceMs >= progressAfterMs || snapshot.progressMs >= progressOfMs
  return hasProgress ? 'next' : 'retry'
}
