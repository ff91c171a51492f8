import { either } from 'fp-ts'
import { failure, success, Type, type Validate } from 'io-ts'
import { SpeechError } from '../errors/speech-error.js'
import { isJsonObject, type JsonObject } from './json-object.js'
import { ownValue } from './parse-json.js'
import { tryPart } from './collections.js'
import type { Slots } from './session-event.js'
import {
  codec,
  isText,
  issuesOf,
  issueText,
  number,
  oneOf,
  wholeNumber,
  type Codec,
  type NumberRange,
} from './validation.js'

// Values as peers write them

const digits = /^\s*[+-]?\d{1,16}\s*$/
const decimal = /^\s*[+-]?\d{1,15}(\.\d{1,24})?([eE][+-]?\d{1,3})?\s*$/

const readDigits = (input: unknown): unknown => (isText(input) && digits.test(input) ? Number(input) : input)
const readDecimal = (input: unknown): unknown => (isText(input) && decimal.test(input) ? Number(input) : input)

/** The same codec for a value that may arrive as a string of digits (PROTOCOL 3.1). */
export const orDigits = <A>(value: Codec<A>): Codec<A> =>
  new Type(
    value.name,
    value.is,
    (input, context) => value.validate(value.is(input) ? input : readDigits(input), context),
    value.encode,
  )

/** A whole number, which may arrive as a string of digits. */
export const integer = (range: NumberRange = {}): Codec<number> => orDigits(wholeNumber(range))

/** A whole number that is written as a string, as all fields of the recognizer's results are (PROTOCOL 4.2). */
export const integerText: Codec<number> = codec('a whole number as a string', wholeNumber().is, {
  read: readDigits,
  write: String,
})

/** A number from 0 to 1, written as a number. */
export const unitNumber: Codec<number> = number({ min: 0, max: 1 })

const unitText = (write: (value: number) => string): Codec<number> =>
  codec('a number from 0.0 to 1.0 as a string', unitNumber.is, { read: readDecimal, write })

/** A confidence from 0 to 1, written as a string with two decimals (PROTOCOL 4.2). */
export const confidenceText: Codec<number> = unitText((value) => value.toFixed(2))

/** The posterior of a word from 0 to 1, written as a string with all of its decimals (PROTOCOL 4.2). */
export const posteriorText: Codec<number> = unitText(String)

/** One of a few numbers, which may arrive as strings. */
export const oneOfNumbers = <A extends number>(...values: readonly A[]): Codec<A> => {
  const { name, is } = oneOf(...values)
  const byText = new Map<unknown, A>(values.map((value) => [String(value), value]))
  return codec(name, is, { read: (input) => byText.get(input) ?? input })
}

const isTrue = (value: unknown): value is true => value === true

/** A mark, which a message has or not. */
export const mark: Codec<true> = /* @__PURE__ */ codec('true', isTrue)

/** A mark that is written as a string (PROTOCOL 4.2). */
export const markText: Codec<true> = codec('"true"', isTrue, {
  read: (input) => input === 'true' || input,
  write: String,
})

/** The slots of a sentence: texts by their names. */
export const slotsCodec: Codec<Slots> = /* @__PURE__ */ codec(
  'an object',
  (value): value is Slots => isJsonObject(value) && Object.values(value).every(isText),
)

// Messages

/** A field of a message: its names on the wire, the one of PROTOCOL first, then aliases that are read too. */
export interface Field<A, Required extends boolean = boolean> {
  readonly names: readonly [string, ...string[]]
  readonly codec: Codec<A>
  readonly required: Required
  /** A value that cannot be read counts as absent. */
  readonly isLenient: boolean
}

export const required = <A>(codec: Codec<A>, ...names: [string, ...string[]]): Field<A, true> => ({
  names,
  codec,
  required: true,
  isLenient: false,
})

export const optional = <A>(codec: Codec<A>, ...names: [string, ...string[]]): Field<A, false> => ({
  names,
  codec,
  required: false,
  isLenient: false,
})

/** An optional field whose value counts as absent if it cannot be read, so that the rest of the message is not lost. */
export const lenient = <A>(codec: Codec<A>, ...names: [string, ...string[]]): Field<A, false> => ({
  names,
  codec,
  required: false,
  isLenient: true,
})

type IsRequired<A, K extends keyof A> = Partial<Pick<A, K>> extends Pick<A, K> ? false : true

/** One field for every key of the model. A missing one, or one that is optional against the model, does not compile. */
export type Fields<A> = {
  readonly [K in keyof A]-?: Field<Exclude<A[K], undefined>, IsRequired<A, K>>
}

export type MessageCodec<A> = Type<A, JsonObject>

/** Which name of a field the encoder writes: 0 the first, 1 the older kebab form (PROTOCOL 3.1). */
export type NameIndex = 0 | 1

/**
 * The codec of a message from its fields. Decoding reads any name of a field, refuses a missing or ill-typed one by its
 * first name, ignores unknown fields, and never throws. Encoding omits undefined fields.
 */
export const messageCodec = <A extends object>(fields: Fields<A>, nameIndex: NameIndex = 0): MessageCodec<A> => {
  const entries = Object.entries(fields) as readonly (readonly [string, Field<unknown>])[]
  const isMessage = (value: unknown): value is A =>
    isJsonObject(value) &&
    entries.every(([key, field]) => {
      const part = ownValue(value, key)
      return part === undefined ? !field.required : field.codec.is(part)
    })

  const validate: Validate<unknown, A> = (input, context) => {
    if (!isJsonObject(input)) return failure(input, context)
    const model: Record<string, unknown> = {}
    for (const [key, field] of entries) {
      // Most fields have one name.
      const { names } = field
      const name = (names[1] && names.find((name) => ownValue(input, name) !== undefined)) ?? names[0]
      const value = ownValue(input, name)
      if (value === undefined && !field.required) continue
      // A valid text, number or flag is its own decoded form. Most values are, and every message comes here.
      if (typeof value !== 'object' && field.codec.is(value)) {
        model[key] = value
        continue
      }
      const decoded = field.isLenient
        ? field.codec.validate(value, context)
        : tryPart(field.codec, value, name, context)
      if (either.isRight(decoded)) model[key] = decoded.right
      else if (!field.isLenient) return decoded
    }
    return success(model as A)
  }

  const encode = (message: A): JsonObject => {
    const json: Record<string, unknown> = {}
    for (const [key, field] of entries) {
      const value = (message as Readonly<Record<string, unknown>>)[key]
      if (value !== undefined) json[field.names[nameIndex] ?? field.names[0]] = field.codec.encode(value)
    }
    return json
  }

  return new Type<A, JsonObject>('an object', isMessage, validate, encode)
}

/**
 * Decodes a message, or returns `invalid-field` for the first invalid field. The error never repeats the value, because
 * it may be a token.
 */
export const decodeWith = <A>(decoder: Type<A, unknown>, input: unknown): either.Either<SpeechError, A> => {
  const decoded = decoder.decode(input)
  if (either.isRight(decoded)) return decoded
  const [issue] = issuesOf(decoded.left)
  const sentence = issue === undefined ? 'The message cannot be read.' : issueText(issue, 'The message')
  return either.left(new SpeechError('invalid-field', sentence))
}

type NamedFields = Readonly<Record<string, Pick<Field<unknown>, 'names'>>>

/**
 * `invalid-field` if a message has one field under two of its names with different values, such as `Tenant` and
 * `tenant_id`, because neither may silently take precedence (PROTOCOL 3.1); otherwise undefined.
 */
export const conflictingAlias = (json: JsonObject, fields: NamedFields): SpeechError | undefined => {
  for (const { names } of Object.values(fields)) {
    const [first, ...others] = names.filter((name) => ownValue(json, name) !== undefined)
    if (first === undefined) continue
    const conflicting = others.find((name) => !isSameValue(json[name], json[first]))
    if (conflicting !== undefined) {
      return new SpeechError(
        'invalid-field',
        `${first} and ${conflicting} are the same field and differ; send one of them.`,
      )
    }
  }
  return undefined
}

/** A number equals its digits in a string. Objects always count as different, because they may have any depth. */
const isSameValue = (a: unknown, b: unknown): boolean =>
  typeof a !== 'object' && typeof b !== 'object' && asText(a) === asText(b)

const asText = (value: unknown): string => (isText(value) ? value : JSON.stringify(value))

const plainName = /^[A-Za-z][A-Za-z0-9 ._-]{0,31}$/

/** The name of an unknown message for an error message; empty if it could be something else. */
export const shownName = (name: string): string => (plainName.test(name) ? ` "${name}"` : '')
