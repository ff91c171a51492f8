import { usageError } from '../process/failure.js'

/** What was typed, as a message may repeat it. Never for a secret. */
const typed = (value: string): string => JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)

/** A value that is not empty, or undefined where the flag was not given. */
export const textFlag = (flag: string, value: string | undefined): string | undefined => {
  if (value?.trim() === '') throw usageError(`${flag} must not be empty.`)
  return value
}

export const choiceFlag = <A extends string>(
  flag: string,
  value: string | undefined,
  choices: readonly A[],
): A | undefined => {
  const found = choices.find((choice) => choice === value)
  if (value === undefined || found !== undefined) return found
  throw usageError(`${flag} must be ${listOf(choices)}, not ${typed(value)}.`)
}

export const wholeNumberFlag = (
  flag: string,
  value: string | undefined,
  { least, most }: { readonly least: number; readonly most: number },
): number | undefined => {
  if (value === undefined) return undefined
  const number = /^\d{1,15}$/.test(value) ? Number(value) : NaN
  if (number >= least && number <= most) return number
  throw usageError(`${flag} must be a whole number from ${least} to ${most}, not ${typed(value)}.`)
}

const slowest = 0.1
const fastest = 1000

/** Times real time; `Infinity` for `max`. */
export const speedFlag = (flag: string, value: string | undefined): number | undefined => {
  if (value === undefined) return undefined
  if (value === 'max') return Infinity
  const speed = /^\d{1,4}(\.\d{1,6})?$/.test(value) ? Number(value) : NaN
  if (speed >= slowest && speed <= fastest) return speed
  throw usageError(`${flag} must be a number from ${slowest} to ${fastest}, or max, not ${typed(value)}.`)
}

/** Two names, `left,right`. */
export const speakersFlag = (flag: string, value: string | undefined): readonly [string, string] | undefined => {
  if (value === undefined) return undefined
  const [left, right, ...more] = value.split(',').map((name) => name.trim())
  if (left !== undefined && left !== '' && right !== undefined && right !== '' && more.length === 0)
    return [left, right]
  throw usageError(`${flag} must be two names such as agent,customer, not ${typed(value)}.`)
}

const listOf = (choices: readonly string[]): string =>
  choices.length < 2 ? choices.join() : `${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}`
