/** Longer than this no client should be made to wait by one header. */
const longestWaitMs = 24 * 60 * 60 * 1000

/** The wait that a `Retry-After` header asks for, in milliseconds: seconds or a date (RFC 9110 section 10.2.3); undefined for any other text. */
export const retryAfterMs = (header: string | null, nowMs: number): number | undefined => {
  if (header === null) return undefined
  const value = header.trim()
  if (/^\d{1,10}$/.test(value)) return Math.min(Number(value) * 1000, longestWaitMs)
  const dateMs = /^[A-Za-z]{3}/.test(value) ? Date.parse(value) : NaN
  return Number.isNaN(dateMs) ? undefined : Math.min(Math.max(0, dateMs - nowMs), longestWaitMs)
}
