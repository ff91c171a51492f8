import { either } from 'fp-ts'
import type { Validate } from 'io-ts'
import { SpeechError } from '../errors/speech-error.js'
import { codec, failure, validatePart, type Codec } from './codec.js'
import type { FieldCodec } from './field-codecs.js'
import { isJsonObject, ownValue, type JsonObject } from './json-object.js'

/** A field of a message: its names on the wire, the description's first, then older dialects that are understood too. */
export interface Field<A, Required extends boolean = boolean> {
  readonly names: readonly [string, ...string[]]
  readonly codec: FieldCodec<A>
  readonly required: Required
  /** A value that cannot be read counts as absent. */
  readonly isHint?: boolean
}

export const required = <A>(codec: FieldCodec<A>, ...names: [string, ...string[]]): Field<A, true> => ({
  names,
  codec,
  required: true,
})

export const optional = <A>(codec: FieldCodec<A>, ...names: [string, ...string[]]): Field<A, false> => ({
  names,
  codec,
  required: false,
})

/** As `optional`, of a message that is received: what cannot be read counts as absent, and the message stands. */
export const hint = <A>(codec: FieldCodec<A>, ...names: [string, ...string[]]): Field<A, false> => ({
  ...optional(codec, ...names),
  isHint: true,
})

/** Whether the model must have the key: what the field has to be then. */
type IsRequired<A, K extends keyof A> = Partial<Pick<A, K>> extends Pick<A, K> ? false : true

/** One field for every key of the model: one that is forgotten, or `optional` where the model is not, is a compiler's error. */
export type Fields<A> = {
  readonly [K in keyof A]-?: Field<Exclude<A[K], undefined>, IsRequired<A, K>>
}

export type MessageCodec<A> = Codec<A, JsonObject>

/** Which name of a field the encoder writes: 0 the description's own, 1 the older kebab form (decisions.md). */
export type NameIndex = 0 | 1

/**
 * The codec of a message from its fields. Decoding reads any name of a field, refuses a missing or ill-typed one by
 * its first name, ignores what it does not know, and never throws. Encoding leaves out what is undefined.
 */
export const messageCodec = <A extends object>(
  name: string,
  fields: Fields<A>,
  nameIndex: NameIndex = 0,
): MessageCodec<A> => {
  const entries = Object.entries(fields) as readonly (readonly [string, Field<unknown>])[]
  const isMessage = (value: unknown): value is A =>
    isJsonObject(value) &&
    entries.every(([key, field]) => {
      const one = ownValue(value, key)
      return one === undefined ? !field.required : field.codec.is(one)
    })

  const validate: Validate<unknown, A> = (input, context) => {
    if (!isJsonObject(input)) return failure(input, context)
    const model: Record<string, unknown> = {}
    for (const [key, field] of entries) {
      const { names } = field
      const found = names.find((one) => ownValue(input, one) !== undefined)
      const value = found === undefined ? undefined : input[found]
      if (value === undefined && !field.required) continue
      const decoded = validatePart(field.codec, value, found ?? names[0], context)
      if (either.isLeft(decoded)) {
        if (field.isHint === true) continue
        return decoded
      }
      model[key] = decoded.right
    }
    return either.right(model as A)
  }

  const encode = (message: A): JsonObject => {
    const json: Record<string, unknown> = {}
    for (const [key, field] of entries) {
      const value = (message as Readonly<Record<string, unknown>>)[key]
      if (value !== undefined) json[field.names[nameIndex] ?? field.names[0]] = field.codec.encode(value)
    }
    return json
  }

  return codec(name, isMessage, validate, encode)
}

/**
 * Decodes, and says of the first field that does not fit what was expected there. The value itself never stands in the
 * message: it may be a token.
 */
export const decodeWith = <A>(decoder: Codec<A>, input: unknown): either.Either<SpeechError, A> => {
  const decoded = decoder.decode(input)
  if (either.isRight(decoded)) return decoded
  const context = decoded.left[0]?.context ?? []
  const path = context.map(({ key }) => key).filter((key) => key !== '')
  const expected = context.at(-1)?.type.name ?? 'valid'
  return either.left(new SpeechError('invalid-field', `${path.join('.') || 'The message'} must be ${expected}.`))
}
