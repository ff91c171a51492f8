import { either } from 'fp-ts'
import { workerCount, type WorkerCount } from 'rxspeech-engines/threads/worker-count'
import type { CustomNodeSource } from 'rxspeech-server/custom-nodes/custom-node-source'
import { languageTag } from 'rxspeech/internal/protocol/language'
import {
  codec,
  type Codec,
  nonEmptyText,
  number,
  type NumberRange,
  oneOf as oneOfValues,
  wholeNumber as wholeNumberOf,
} from 'rxspeech/internal/protocol/validation'
import { nearestName } from 'rxspeech/internal/protocol/nearest-name'
import { usageError } from '../process/failure.js'
import type { ParseValue } from './flags.js'

/** The input, quoted for a message. Never for a secret. */
export const quoted = (typed: string): string => JSON.stringify(typed.length > 40 ? `${typed.slice(0, 40)}…` : typed)

/** What a codec expects; a word is typed without quotes. */
const expectedBy = ({ name }: { readonly name: string }): string => name.replaceAll('"', '')

/**
 * A flag that a codec of the validation kit decodes.
 *
 * @param read converts the text to the input of the codec
 * @param words what the codec accepts, to suggest the nearest one
 */
const decoded =
  <A>(
    codec: Codec<A>,
    read: (typed: string) => unknown = (typed) => typed,
    words: readonly string[] = [],
  ): ParseValue<A> =>
  (typed, flag) => {
    const result = codec.decode(read(typed))
    if (either.isRight(result)) return result.right
    const near = nearestName(typed, words)
    const end = near === undefined ? '.' : `; did you mean ${near}?`
    throw usageError(`${flag} must be ${expectedBy(codec)}, not ${quoted(typed)}${end}`)
  }

/** A language such as en or en-US, or auto. */
export const language: ParseValue<string> = decoded(languageTag)

/** Any text that is not blank. It may be a secret, so the message does not repeat it. */
export const text: ParseValue<string> = (typed, flag) => {
  if (!nonEmptyText.is(typed.trim())) throw usageError(`${flag} must not be empty.`)
  return typed
}

export const oneOf = <A extends string>(choices: readonly A[]): ParseValue<A> =>
  Object.assign(decoded(oneOfValues(...choices), undefined, choices), { choices })

/** Reads digits only: `Number` also accepts an empty text and "0x10". */
const readNumber = (typed: string): unknown => (/^\d{1,15}(\.\d{1,6})?$/.test(typed) ? Number(typed) : typed)

/** A number that a codec of the validation kit accepts. */
const numberFlag = (codec: Codec<number>): ParseValue<number> => decoded(codec, readNumber)

export const wholeNumber = (range: NumberRange): ParseValue<number> => numberFlag(wholeNumberOf(range))

const times = number({ min: 0.1, max: 1000 })

/** Times real time; `Infinity` for `max`. */
export const speed: ParseValue<number> = decoded(
  codec(`${times.name}, or max`, (value): value is number => value === Infinity || times.is(value)),
  (typed) => (typed === 'max' ? Infinity : readNumber(typed)),
)

/** The names of the channels, such as `left,right`. */
export const speakers: ParseValue<readonly string[]> = decoded(
  codec(
    'one name for each channel, such as agent,customer',
    (value): value is readonly string[] =>
      Array.isArray(value) && value.length >= 1 && value.length <= 2 && value.every(nonEmptyText.is),
  ),
  (typed) => typed.split(',').map((name) => name.trim()),
)

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

/** How many worker processes a service has. */
export const workers: ParseValue<WorkerCount> = decoded(workerCount, readNumber)

/** A path begins with a dot or a slash, or ends as JavaScript does. */
const isPath = (typed: string): boolean => /^[./]|^[A-Za-z]:[\\/]|\.[cm]?js$/.test(typed)

/** Custom nodes: a file, or a package installed in the folder of the command. */
export const customNodes: ParseValue<CustomNodeSource> = (typed, flag) => {
  const name = text(typed, flag)
  return isPath(name) ? { file: name } : { package: name }
}
