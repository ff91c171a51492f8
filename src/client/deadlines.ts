import type { ErrorCode } from '../errors/error-table.js'
import { SpeechError } from '../errors/speech-error.js'
import type { Wait } from './settings.js'
import type { Phase } from './states.js'

/** The error of a session whose phase takes too long. */
const deadlineErrors = {
  authorizing: ['token-timeout', 'No token came in time; check the token source.'],
  connecting: [
    'connect-timeout',
    'The service did not accept the connection in time; check the address and the network.',
  ],
  starting: ['start-timeout', 'The service did not answer the start in time; try again or raise timeouts.startMs.'],
  draining: ['finalize-timeout', 'The service stopped taking audio before its end; what was received before stands.'],
  finalizing: ['finalize-timeout', 'The service did not finish in time; what was received before stands.'],
  stopping: ['stop-timeout', 'The service did not confirm the stop in time; nothing more was delivered.'],
  // Not an error: the final counts as the answer.
  closing: ['finalize-timeout', 'The service did not finish in time; what was received before stands.'],
} as const satisfies Readonly<Record<Wait, readonly [ErrorCode, string]>>

export const isWait = (name: Phase['name']): name is Wait => name in deadlineErrors

export const deadlineError = (name: Wait, pendingFromMs: number | undefined): SpeechError => {
  const [code, message] = deadlineErrors[name]
  const isPending = code === 'finalize-timeout' && pendingFromMs !== undefined
  return new SpeechError(code, isPending ? `${message} Pending from ${pendingFromMs} ms.` : message)
}
