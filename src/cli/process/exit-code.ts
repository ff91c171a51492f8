import type { ErrorCode } from '../../errors/error-table.js'

/** What the process says when it ends. */
export const exitCode = {
  done: 0,
  /** The service or the network failed. */
  failed: 1,
  /** The command was used in a wrong way. */
  usage: 2,
  /** The input cannot be read. */
  unreadable: 3,
} as const

/** The codes that are not a failure of the service or of the network. */
const ofTheUser: Partial<Record<ErrorCode, number>> = {
  'invalid-options': exitCode.usage,
  'invalid-format': exitCode.usage,
  'invalid-wav': exitCode.unreadable,
  'source-failed': exitCode.unreadable,
  'cut-sample': exitCode.unreadable,
}

export const exitCodeOf = (code: ErrorCode): number => ofTheUser[code] ?? exitCode.failed
