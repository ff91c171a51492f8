import { isErrorCode, isRetryable, type ErrorCode } from './error-code.js'

export interface SpeechErrorOptions {
  readonly cause?: unknown
  /** Overrides the table, where the peer's own word decides (such as `Retry-After`). */
  readonly retryable?: boolean | undefined
  /** How long to wait before the next attempt, in milliseconds, when the peer said so. */
  readonly retryAfterMs?: number | undefined
}

/**
 * The one error of the library. Discriminate by `code`, never by `instanceof`: two builds of the package may meet.
 * The message is one sentence for a person; secrets, tokens and transcripts never stand in it.
 */
export class SpeechError extends Error {
  override readonly name = 'SpeechError'
  readonly code: ErrorCode
  readonly retryable: boolean
  /** Declared only: an error without a wait has no such key at all. */
  declare readonly retryAfterMs?: number

  constructor(code: ErrorCode, message: string, options: SpeechErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.retryable = options.retryable ?? isRetryable(code)
    if (options.retryAfterMs !== undefined) this.retryAfterMs = options.retryAfterMs
  }
}

/** True for a `SpeechError` of any build of this package, whose codes this build knows. Never throws. */
export const isSpeechError = (error: unknown): error is SpeechError =>
  error instanceof Error &&
  error.name === 'SpeechError' &&
  'code' in error &&
  typeof error.code === 'string' &&
  isErrorCode(error.code) &&
  'retryable' in error &&
  typeof error.retryable === 'boolean'

/** The error itself when it is a `SpeechError`, else one of the given code that has it as its cause. */
export const toSpeechError = (error: unknown, code: ErrorCode, message: string): SpeechError =>
  isSpeechError(error) ? error : new SpeechError(code, message, { cause: error })
