/** Longer than this no client should be made to wait by one header. */
const longestWaitMs = 24 * 60 * 60 * 1000

/** The oldest of the three forms of a date has no time zone: it is UTC all the same (RFC 9110 section 5.6.7). */
const withoutZone = /^[A-Za-z]{3} [A-Za-z]{3} [ \d]\d \d\d:\d\d:\d\d \d{4}$/

/**
 * The wait that a `Retry-After` header asks for, in milliseconds: seconds or a date (RFC 9110 section 10.2.3), at most a
 * day; undefined for any other text.
 */
export const retryAfterMs = (header: string | null | undefined, nowMs: number): number | undefined => {
  const value = header?.trim() ?? ''
  if (/^\d+$/.test(value)) return Math.min(Number(value) * 1000, longestWaitMs)
  const dateMs = /^[A-Za-z]{3}/.test(value) ? Date.parse(withoutZone.test(value) ? `${value} GMT` : value) : NaN
  return Number.isNaN(dateMs) ? undefined : Math.min(Math.max(0, dateMs - nowMs), longestWaitMs)
}

/** What a refusal that names no time asks for. */
const defaultWaitMs = 1_000

/**
 * The value of a `Retry-After`, in seconds: the wait, and at random up to a tenth more or two seconds, so that those who
 * were refused together do not come back together.
 */
export const spreadRetryAfter = (waitMs: number = defaultWaitMs, random: () => number = Math.random): string => {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000))
  const spread = Math.max(2, Math.ceil(seconds / 10))
  return String(seconds + Math.floor(random() * (spread + 1)))
}
