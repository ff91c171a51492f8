export interface RetryTerms {
  readonly baseMs: number
  readonly maxMs: number
}

/** The longest wait that a receiver may ask for. */
export const maxRetryAfterMs = 300_000

/** Exponential backoff with full jitter: anything from nothing to twice as long as before, up to `maxMs`. */
export const backoffMs = ({ baseMs, maxMs }: RetryTerms, attempt: number, random: () => number): number =>
  Math.floor(random() * Math.min(maxMs, baseMs * 2 ** Math.min(attempt - 1, 30)))

/** `Retry-After` as seconds or as a date (RFC 9110 section 10.2.3), in milliseconds from now; nothing where it is neither. */
export const retryAfterMs = (header: string | undefined, nowMs: number): number | undefined => {
  if (header === undefined) return undefined
  const ms = /^\d+$/u.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - nowMs
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), maxRetryAfterMs) : undefined
}

/** Whether the same request may fare better later: the receiver is busy or ill, or too slow to read. */
export const mayRetry = (status: number): boolean => status === 408 || status === 425 || status === 429 || status >= 500
