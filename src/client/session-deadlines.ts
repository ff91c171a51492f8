import { SpeechError } from '../errors/speech-error.js'
import type { ErrorCode } from '../errors/error-table.js'
import type { Unsubscribable } from 'rxjs'
import { schedule } from '../kernel/timers.js'
import type { SessionSettings } from './options.js'
import type { MachineState } from './session-states.js'

/** The states that wait for somebody else; `streaming` and `idle` wait for the user only, `waiting` for its own time. */
export type Wait = Extract<keyof typeof timeouts, MachineState['name']>

const timeouts = {
  authorizing: ['token-timeout', 'No token came in time; check the token source.'],
  connecting: [
    'connect-timeout',
    'The service did not accept the connection in time; check the address and the network.',
  ],
  starting: ['start-timeout', 'The service did not answer the start in time; try again or raise startTimeoutMs.'],
  draining: ['finalize-timeout', 'The service stopped taking audio before its end; what was received before stands.'],
  finalizing: ['finalize-timeout', 'The service did not finish in time; what was received before stands.'],
  stopping: ['stop-timeout', 'The service did not confirm the stop in time; nothing more was delivered.'],
  closing: ['finalize-timeout', 'The service did not close in time.'],
} as const satisfies Partial<Record<MachineState['name'], readonly [ErrorCode, string]>>

/** Whether a state must not last longer than a deadline. */
export const isWait = (name: MachineState['name']): name is Wait => name in timeouts

/** The error of a wait that is over. */
export const deadlineError = (name: MachineState['name'], pendingFromMs?: number): SpeechError => {
  const [code, message] = isWait(name) ? timeouts[name] : (['internal', 'A deadline passed that nobody set.'] as const)
  const isPending = code === 'finalize-timeout' && pendingFromMs !== undefined
  return new SpeechError(code, isPending ? `${message} Pending from ${pendingFromMs} ms.` : message)
}

/**
 * Begins the deadline of a state, where it has one. It holds the process: a connection may break unseen, and then nothing
 * else does, while somebody waits to be told of it.
 */
export const startDeadline = (
  name: MachineState['name'],
  { deadlines, scheduler }: Pick<SessionSettings, 'deadlines' | 'scheduler'>,
  onTime: () => void,
): Unsubscribable | undefined =>
  isWait(name) ? schedule(scheduler, deadlines[name], onTime, { ref: true }) : undefined
