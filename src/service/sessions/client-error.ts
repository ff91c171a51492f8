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

/** Who is told of a fault, and how much of it. */
export interface FaultOptions {
  /** Told of faults inside, which clients only learn as `internal`, `engine-failed` or `missing-dependency`. */
  readonly onFault?: OnFault
  /** Whether a client is told which package is missing, for a service that only its developer uses. Default false. */
  readonly namesPackages?: boolean
}

const maxCauses = 8

/** The package that is missing, wherever it stands among the causes: a session that lacks it fails at every attempt. */
const missingDependencyOf = (error: unknown): SpeechError | undefined => {
  let at = error
  for (let depth = 0; depth < maxCauses && at instanceof Error; depth += 1, at = at.cause) {
    if (isSpeechError(at) && at.code === 'missing-dependency') return at
  }
  return undefined
}

/**
 * The error as a client may learn it: itself when it is of the client's business, else `internal`, and nothing of what
 * was amiss. That a package is missing is told by its code, which no client tries again. Faults go to `onFault` as they
 * were.
 */
export const clientError = (error: unknown, { onFault, namesPackages = false }: FaultOptions = {}): SpeechError => {
  const missing = missingDependencyOf(error)
  if (missing !== undefined) {
    onFault?.(error)
    if (namesPackages) return missing
    const text = 'The service lacks a package that this session needs; tell its operator.'
    return new SpeechError('missing-dependency', text, { cause: error })
  }
  if (isSpeechError(error)) {
    if (isFault(error)) onFault?.(error)
    if (forClients.has(error.code)) return error
  } else onFault?.(error)
  return new SpeechError('internal', errorTable.internal.help, { cause: error })
}
