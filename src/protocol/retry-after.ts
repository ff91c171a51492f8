/** The longest wait that a header can ask for. */
const maxWaitMs = 24 * 60 * 60 * 1000

/** The oldest of the three date formats has no time zone and is UTC (RFC 9110 section 5.6.7). */
const withoutZone = /^[A-Za-z]{3} [A-Za-z]{3} [ \d]\d \d\d:\d\d:\d\d \d{4}$/

/**
 * The wait that a `Retry-After` header asks for, in milliseconds: seconds or a date (RFC 9110 section 10.2.3), at most
 * a day; undefined for any other text.
 */
export const retryAfterMs = (header: string | null | undefined, nowMs: number): number | undefined => {
  const value = header?.trim() ?? ''
  if (/^\d+$/.test(value)) return Math.min(Number(value) * 1000, maxWaitMs)
  const dateMs = /^[A-Za-z]{3}/.test(value) ? Date.parse(withoutZone.test(value) ? `${value} GMT` : value) : NaN
  return Number.isNaN(dateMs) ? undefined : Math.min(Math.max(0, dateMs - nowMs), maxWaitMs)
}

/** The value of a `Retry-After`, in whole seconds, at least 1. */
export const exactRetryAfter = (waitMs: number): string => String(secondsOf(waitMs))

const secondsOf = (waitMs: number): number => Math.max(1, Math.ceil(waitMs / 1000))

/** The wait of a refusal without one. */
const defaultWaitMs = 1_000

/**
 * The value of a `Retry-After`, in seconds: the wait, plus a random part of up to a tenth or two seconds, so that
 * clients that were refused together do not return together.
 */
export const spreadRetryAfter = (waitMs: number = defaultWaitMs, random: () => number = Math.random): string => {
  const seconds = secondsOf(waitMs)
  const spread = Math.max(2, Math.ceil(seconds / 10))
  return String(seconds + Math.floor(random() * (spread + 1)))
}
