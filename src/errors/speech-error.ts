import { errorTable, isErrorCode, type ErrorCode } from './error-table.js'

/** The optional parts of a `SpeechError`. */
export interface SpeechErrorOptions {
  /** The error behind this one. @default none */
  readonly cause?: unknown
  /** Overrides the table if the peer decides (for example by `Retry-After`). @default that of `errorTable` */
  readonly retryable?: boolean | undefined
  /** How long to wait before the next attempt, in milliseconds, if the peer sent it. @default none */
  readonly retryAfterMs?: number | undefined
}

/**
 * The one error of the library. Discriminate by `code`, never by `instanceof`: two builds of the package may meet. The
 * message is one sentence for a person; it never contains secrets, tokens and transcripts.
 *
 * @example
 * const refusal = new SpeechError('overloaded', 'All lines are busy; try again later.', { retryAfterMs: 5_000 })
 */
export class SpeechError extends Error {
  override readonly name = 'SpeechError'
  /** The stable name of the error; `errorTable` has a row for each. */
  readonly code: ErrorCode
  /** Whether another attempt can succeed. */
  readonly retryable: boolean
  /** Only declared: an error without a wait does not have this key. */
  declare readonly retryAfterMs?: number

  /** An error with a code of `errorTable`, whose `retryable` is that of the table unless it is given. */
  constructor(code: ErrorCode, message: string, options: SpeechErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.retryable = options.retryable ?? errorTable[code].retryable
    if (options.retryAfterMs !== undefined) this.retryAfterMs = options.retryAfterMs
  }
}

/**
 * True for a `SpeechError` of any build of this package, whose codes this build knows. Never throws.
 *
 * @example
 * session$.subscribe({ error: (error: unknown) => console.log(isSpeechError(error) ? error.code : 'other') })
 */
export const isSpeechError = (error: unknown): error is SpeechError =>
  error instanceof Error &&
  error.name === 'SpeechError' &&
  'code' in error &&
  typeof error.code === 'string' &&
  isErrorCode(error.code) &&
  'retryable' in error &&
  typeof error.retryable === 'boolean'

/** The error itself if it is a `SpeechError`, otherwise a new one with the given code and the error as its cause. */
export const toSpeechError = (error: unknown, code: ErrorCode, message: string): SpeechError =>
  isSpeechError(error) ? error : new SpeechError(code, message, { cause: error })

/** The code that Node and its packages put on an error, such as `ECONNREFUSED`; undefined if there is none. */
export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
