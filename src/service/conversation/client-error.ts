import { errorTable, type ErrorCode } from '../../errors/error-table.js'
import { isSpeechError, SpeechError } from '../../errors/speech-error.js'

/** What a service has to say to clients. Other codes are about its own files, options and peers, as are their messages. */
const forClients: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'invalid-format',
  'unauthenticated',
  'tenant-denied',
  'project-denied',
  'model-denied',
  'invalid-json',
  'invalid-field',
  'unknown-message',
  'unknown-content-type',
  'empty-audio',
  'cut-sample',
  'message-too-big',
  'protocol-violation',
  'not-started',
  'already-started',
  'no-recognition',
  'model-mismatch',
  'overloaded',
  'too-many-requests',
  'too-fast',
  'going-away',
  'engine-failed',
  'node-failed',
])

/** What ends the incoming half of a connection that can still be written to. */
export const unreadable: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'message-too-big',
  'protocol-violation',
  'invalid-json',
])

/** Told of faults inside, whatever the client learns of them. */
export type OnFault = (error: unknown) => void

const isFault = (error: SpeechError): boolean =>
  error.code === 'engine-failed' || error.code === 'node-failed' || !forClients.has(error.code)

/**
 * The error as a client may learn it: itself when it is of the client's business, else `internal`, and nothing of what
 * was amiss. Faults go to `onFault` as they were.
 */
export const clientError = (error: unknown, onFault?: OnFault): SpeechError => {
  if (isSpeechError(error)) {
    if (isFault(error)) onFault?.(error)
    if (forClients.has(error.code)) return error
  } else onFault?.(error)
  return new SpeechError('internal', errorTable.internal.help, { cause: error })
}
