import type { CustomNodeSource } from '../../service/custom-nodes/custom-node-source.js'
import { usageError } from '../process/failure.js'
import type { ParseValue } from './flags.js'

/** The input, quoted for a message. Never for a secret. */
const quoted = (typed: string): string => JSON.stringify(typed.length > 40 ? `${typed.slice(0, 40)}…` : typed)

/** Any text that is not empty. */
export const text: ParseValue<string> = (typed, flag) => {
  if (typed.trim() === '') throw usageError(`${flag} must not be empty.`)
  return typed
}

export const oneOf =
  <A extends string>(choices: readonly A[]): ParseValue<A> =>
  (typed, flag) => {
    const found = choices.find((choice) => choice === typed)
    if (found !== undefined) return found
    throw usageError(`${flag} must be ${listOf(choices)}, not ${quoted(typed)}.`)
  }

const listOf = (choices: readonly string[]): string =>
  choices.length < 2 ? choices.join() : `${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}`

export const wholeNumber =
  ({ min, max }: { readonly min: number; readonly max: number }): ParseValue<number> =>
  (typed, flag) => {
    const number = /^\d{1,15}$/.test(typed) ? Number(typed) : NaN
    if (number >= min && number <= max) return number
    throw usageError(`${flag} must be a whole number from ${min} to ${max}, not ${quoted(typed)}.`)
  }

const minSpeed = 0.1
const maxSpeed = 1000

/** Times real time; `Infinity` for `max`. */
export const speed: ParseValue<number> = (typed, flag) => {
  if (typed === 'max') return Infinity
  const times = /^\d{1,4}(\.\d{1,6})?$/.test(typed) ? Number(typed) : NaN
  if (times >= minSpeed && times <= maxSpeed) return times
  throw usageError(`${flag} must be a number from ${minSpeed} to ${maxSpeed}, or max, not ${quoted(typed)}.`)
}

/** Two names, `left,right`. */
export const speakers: ParseValue<readonly [string, string]> = (typed, flag) => {
  const [left, right, ...more] = typed.split(',').map((name) => name.trim())
  if (left !== undefined && left !== '' && right !== undefined && right !== '' && more.length === 0)
    return [left, right]
  throw usageError(`${flag} must be two names such as agent,customer, not ${quoted(typed)}.`)
}

const dateForm = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d))?$/

/** A date of ISO 8601, or a time with its zone, in milliseconds since 1970; a date begins at midnight UTC. */
export const date: ParseValue<number> = (typed, flag) => {
  const ms = dateForm.test(typed) ? Date.parse(typed) : NaN
  // `Date.parse` turns 30 February into 2 March.
  const [, , day] = typed.slice(0, 10).split('-').map(Number)
  const isDay = new Date(`${typed.slice(0, 10)}T00:00:00Z`).getUTCDate() === day
  if (!Number.isNaN(ms) && isDay) return ms
  throw usageError(`${flag} must be a date such as 2026-01-31, or a time such as 2026-01-31T12:00:00Z.`)
}

const dayMs = 86_400_000
const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: dayMs }

/** A duration such as `90s`, `30m`, `1h`, `7d`, or 0, in milliseconds. */
export const duration =
  ({ maxMs }: { readonly maxMs: number }): ParseValue<number> =>
  (typed, flag) => {
    const [, count = '', unit = 's'] = /^(\d{1,6})([smhd])$/.exec(typed === '0' ? '0s' : typed) ?? []
    const ms = count === '' ? NaN : Number(count) * (unitMs[unit] ?? NaN)
    if (ms <= maxMs) return ms
    throw usageError(`${flag} must be a duration such as 30m, 1h or 7d, of ${maxMs / dayMs} days at most.`)
  }

/** A path begins with a dot or a slash, or ends as JavaScript does. */
const isPath = (typed: string): boolean => /^[./]|^[A-Za-z]:[\\/]|\.[cm]?js$/.test(typed)

/** Custom nodes: a file, or a package installed in the folder of the command. */
export const customNodes: ParseValue<CustomNodeSource> = (typed, flag) => {
  const name = text(typed, flag)
  return isPath(name) ? { file: name } : { package: name }
}
