import { isObservable } from 'rxjs'
import { SpeechError } from '../errors/speech-error.js'
import { maxTimerMs } from '../kernel/timers.js'

// Each takes `unknown` on purpose: callers in JavaScript and at the command line give what they have. What was given is
// printed where it is a number and nowhere else, for it may be a secret in the wrong place.

const refuse = (option: string, expected: string): SpeechError =>
  new SpeechError('invalid-options', `${option} must be ${expected}.`)

/** A text that must be there and not be empty. */
export const requiredText = (option: string, value: unknown): string => {
  if (typeof value === 'string' && value !== '') return value
  throw refuse(option, 'a string that is not empty')
}

export const optionalText = (option: string, value: unknown): void => {
  if (value !== undefined && typeof value !== 'string') throw refuse(option, 'a string')
}

export const optionalBoolean = (option: string, value: unknown): void => {
  if (value !== undefined && typeof value !== 'boolean') throw refuse(option, 'true or false')
}

export const optionalChoice = (option: string, value: unknown, choices: readonly string[]): void => {
  if (value === undefined || choices.some((one) => one === value)) return
  throw refuse(option, choices.map((one) => `"${one}"`).join(' or '))
}

export const optionalFunction = (option: string, value: unknown): void => {
  if (value !== undefined && typeof value !== 'function') throw refuse(option, 'a function')
}

/** An object whose named members are functions, such as a scheduler or an observer. */
export const optionalMethods = (option: string, value: unknown, ...methods: readonly string[]): void => {
  if (value === undefined) return
  const members = (typeof value === 'object' && value !== null ? value : {}) as Readonly<Record<string, unknown>>
  if (methods.some((method) => typeof members[method] !== 'function')) {
    throw refuse(option, `an object with ${methods.join(' and ')}`)
  }
}

export const optionalObservable = (option: string, value: unknown): void => {
  if (value !== undefined && !isObservable(value)) throw refuse(option, 'an Observable')
}

export const optionalWhole = (
  option: string,
  value: unknown,
  least = Number.MIN_SAFE_INTEGER,
  most = Number.MAX_SAFE_INTEGER,
): void => {
  if (value === undefined || (Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most)) return
  const lower = least === Number.MIN_SAFE_INTEGER ? '' : ` from ${least}`
  const upper = most === Number.MAX_SAFE_INTEGER ? '' : ` to ${most}`
  throw refuse(option, `a whole number${lower}${upper}${shown(value)}`)
}

/** A duration that a timer can keep, in milliseconds. */
export const positiveMs = (option: string, value: number | undefined, fallback: number): number => {
  if (value === undefined) return fallback
  if (typeof value === 'number' && value > 0 && value <= maxTimerMs) return value
  throw refuse(option, `more than 0 and at most ${maxTimerMs} milliseconds${shown(value)}`)
}

const shown = (value: unknown): string => (typeof value === 'number' ? `, not ${value}` : '')
