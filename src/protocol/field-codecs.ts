import { either } from 'fp-ts'
import { codec, failure, type Codec } from './codec.js'
import { isJsonObject } from './json-object.js'

/** A codec of one field. Its `name` is what a refusal says was expected, as in "ChannelCount must be 1 or 2". */
export type FieldCodec<A> = Codec<A>

const fieldCodec = <A>(
  expected: string,
  is: (value: unknown) => value is A,
  read: (value: unknown) => unknown = (value) => value,
  write: (value: A) => unknown = (value) => value,
): FieldCodec<A> =>
  codec(
    expected,
    is,
    (input, context) => {
      const value = read(input)
      return is(value) ? either.right(value) : failure(input, context)
    },
    write,
  )

const numeral = /^\s*[+-]?\d{1,16}\s*$/
const decimal = /^\s*[+-]?\d{1,15}(\.\d{1,20})?([eE][+-]?\d{1,3})?\s*$/
const isText = (value: unknown): value is string => typeof value === 'string'

/** A whole number, which may arrive as a string of digits (decisions.md: field dialects). */
export const integer = (expected = 'a whole number', minimum = -Infinity, maximum = Infinity): FieldCodec<number> =>
  fieldCodec(
    expected,
    (value): value is number => Number.isSafeInteger(value) && Number(value) >= minimum && Number(value) <= maximum,
    (input) => (isText(input) && numeral.test(input) ? Number(input) : input),
  )

/** A whole number that is written as a string, as all fields of the recognizer's results are (service.md 4.2). */
export const integerText: FieldCodec<number> = fieldCodec(
  'a whole number as a string',
  (value): value is number => Number.isSafeInteger(value),
  (input) => (isText(input) && numeral.test(input) ? Number(input) : input),
  String,
)

/** A confidence from 0 to 1, written with two decimals as a string (service.md 4.2 rule 6). */
export const confidenceText: FieldCodec<number> = fieldCodec(
  'a number from 0.0 to 1.0 as a string',
  (value): value is number => typeof value === 'number' && value >= 0 && value <= 1,
  (input) => (isText(input) && decimal.test(input) ? Number(input) : input),
  (value) => value.toFixed(2),
)

/** A number from 0 to 1, written as a number. */
export const unitNumber: FieldCodec<number> = fieldCodec(
  'a number from 0 to 1',
  (value): value is number => typeof value === 'number' && value >= 0 && value <= 1,
)

export const text: FieldCodec<string> = fieldCodec('a string', isText)

export const nonEmptyText = (expected = 'a string that is not empty'): FieldCodec<string> =>
  fieldCodec(expected, (value): value is string => isText(value) && value !== '')

/** One of a few strings or numbers; numbers may arrive as strings. */
export const oneOf = <A extends string | number>(...values: readonly A[]): FieldCodec<A> => {
  const shown = values.map((value) => JSON.stringify(value))
  const expected = shown.length > 1 ? `${shown.slice(0, -1).join(', ')} or ${String(shown.at(-1))}` : String(shown[0])
  return fieldCodec(
    expected,
    (value): value is A => values.some((one) => one === value),
    (input) => (isText(input) ? (values.find((value) => String(value) === input) ?? input) : input),
  )
}

export const listOfText: FieldCodec<readonly string[]> = fieldCodec(
  'a list of strings',
  (value): value is readonly string[] => Array.isArray(value) && value.every(isText),
)

export const anything: FieldCodec<unknown> = fieldCodec('anything', (_value): _value is unknown => true)

export const jsonObject: FieldCodec<Readonly<Record<string, unknown>>> = fieldCodec('an object', isJsonObject)
