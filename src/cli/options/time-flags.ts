import { usageError } from '../process/failure.js'

const dateForm = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d))?$/

/** A date of ISO 8601, or a moment with its zone, in milliseconds since 1970; a date begins at midnight UTC. */
export const dateFlag = (flag: string, value: string | undefined): number | undefined => {
  if (value === undefined) return undefined
  const ms = dateForm.test(value) ? Date.parse(value) : NaN
  // `Date.parse` makes 2 March of 30 February.
  const [, , day] = value.slice(0, 10).split('-').map(Number)
  const isDay = new Date(`${value.slice(0, 10)}T00:00:00Z`).getUTCDate() === day
  if (!Number.isNaN(ms) && isDay) return ms
  throw usageError(`${flag} must be a date such as 2026-01-31, or a moment such as 2026-01-31T12:00:00Z.`)
}

const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A duration such as `90s`, `30m`, `1h`, `7d`, or 0, in milliseconds. */
export const durationFlag = (flag: string, value: string | undefined, mostMs: number): number | undefined => {
  if (value === undefined) return undefined
  const [, count = '', unit = 's'] = /^(\d{1,6})([smhd])$/.exec(value === '0' ? '0s' : value) ?? []
  const ms = count === '' ? NaN : Number(count) * (unitMs[unit] ?? NaN)
  if (ms <= mostMs) return ms
  const mostDays = mostMs / 86_400_000
  throw usageError(`${flag} must be a duration such as 30m, 1h or 7d, of ${mostDays} days at most.`)
}
