import { authFailures, type AuthFailure } from './service-monitor.js'

const known: ReadonlySet<unknown> = new Set(authFailures)
const isAuthFailure = (value: unknown): value is AuthFailure => known.has(value)

/** Why: the `cause` of an `unauthenticated` error, or an `error` of the token endpoint (RFC 6749 section 5.2). */
export const authFailureOf = (failure: unknown): AuthFailure => {
  const reason =
    typeof failure === 'string'
      ? failure.replaceAll('_', '-')
      : failure !== null && typeof failure === 'object' && 'cause' in failure
        ? failure.cause
        : undefined
  return isAuthFailure(reason) ? reason : 'other'
}
