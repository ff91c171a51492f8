import type { SegmentAttempt } from 'rxspeech-engines/engine'
import { codesWith, errorTable } from 'rxspeech/internal/errors/error-table'
import { isSpeechError, SpeechError } from 'rxspeech/internal/errors/speech-error'

const clientCodes = codesWith('for-clients')
const unreadableCodes = codesWith('unreadable')

/**
 * Whether the incoming half of a connection ended because of an unreadable message, or too many frames; the client can
 * still get an answer.
 */
export const isUnreadable = (error: unknown): error is SpeechError =>
  isSpeechError(error) && unreadableCodes.has(error.code)

/** The session of a fault, and the attempt at a segment that failed, as far as they are known. */
export type FaultOrigin = Partial<SegmentAttempt>

/** Whether it is an error for clients already. */
export const isClientError = (error: unknown): error is SpeechError =>
  isSpeechError(error) && clientCodes.has(error.code)

/** Receives faults of the service, of which clients see only the code. */
export type OnFault = (error: unknown, origin?: FaultOrigin) => void

export interface FaultOptions {
  /** Receives faults of the service, which clients only see as `internal`, `engine-failed` or `missing-dependency`. */
  readonly onFault?: OnFault | undefined
  /** Whether clients see which package is missing, for a service that only its developer uses. @default false */
  readonly namesPackages?: boolean | undefined
}

const isFault = (error: SpeechError): boolean =>
  error.code === 'engine-failed' || error.code === 'node-failed' || !clientCodes.has(error.code)

const maxCauses = 8

/** The missing package, anywhere among the causes: without it a session fails at every attempt. */
const missingDependencyOf = (error: unknown): SpeechError | undefined => {
  let at = error
  for (let depth = 0; depth < maxCauses && at instanceof Error; depth += 1, at = at.cause) {
    if (isSpeechError(at) && at.code === 'missing-dependency') return at
  }
  return undefined
}

/**
 * The error as a client sees it: itself if it concerns the client, otherwise `internal` without any detail. A missing
 * package has its own code, because no retry helps. Faults go to `onFault` unchanged.
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
    if (clientCodes.has(error.code)) return error
  } else onFault?.(error)
  return new SpeechError('internal', errorTable.internal.help, { cause: error })
}
