import { either } from 'fp-ts'
import * as t from 'io-ts'
import { isJsonObject } from '../../../protocol/json-object.js'

/** A codec of an option, from a type guard and a name that completes "must be …". */
export const optionType = <A>(expected: string, is: (value: unknown) => value is A): t.Type<A, unknown> =>
  new t.Type<A, unknown>(
    expected,
    is,
    (input, context) => (is(input) ? t.success(input) : t.failure(input, context)),
    (value) => value,
  )

/**
 * A text that is not empty.
 *
 * @example
 * nodeOptions({ name: text }, {})
 */
export const text = optionType('a text that is not empty', (value): value is string => {
  return typeof value === 'string' && value !== ''
})

/**
 * True or false.
 *
 * @example
 * nodeOptions({}, { partials: flag })
 */
export const flag = optionType('true or false', (value): value is boolean => typeof value === 'boolean')

/**
 * A number from `min` to `max`, inclusive.
 *
 * @example
 * nodeOptions({ gainDb: numberFrom(-60, 60) }, {})
 */
export const numberFrom = (min: number, max: number): t.Type<number, unknown> =>
  optionType(
    `a number from ${min} to ${max}`,
    (value): value is number => typeof value === 'number' && value >= min && value <= max,
  )

/**
 * A whole number from `min` to `max`, inclusive.
 *
 * @example
 * nodeOptions({}, { everyMs: wholeNumberFrom(20, 60_000) })
 */
export const wholeNumberFrom = (min: number, max: number): t.Type<number, unknown> =>
  optionType(
    `a whole number from ${min} to ${max}`,
    (value): value is number => Number.isInteger(value) && Number(value) >= min && Number(value) <= max,
  )

/** A whole number within bounds, or a number outside them with a meaning of its own, such as -1 for no limit. */
export const wholeNumberOr = (exception: number, min: number, max: number): t.Type<number, unknown> =>
  optionType(
    `${exception}, or a whole number from ${min} to ${max}`,
    (value): value is number =>
      value === exception || (Number.isInteger(value) && Number(value) >= min && Number(value) <= max),
  )

/**
 * One of several words.
 *
 * @example
 * nodeOptions({ to: oneOfWords('mono', 'stereo') }, {})
 */
export const oneOfWords = <Word extends string>(...words: readonly Word[]): t.Type<Word, unknown> =>
  optionType(
    `one of ${words.join(', ')}`,
    (value): value is Word => typeof value === 'string' && words.some((word) => word === value),
  )

/**
 * A list of at most `max` items.
 *
 * @default max is 1000
 *
 * @example
 * nodeOptions({ phrases: listOf(text) }, {})
 */
export const listOf = <A>(item: t.Type<A, unknown>, max = 1000): t.Type<readonly A[], unknown> =>
  optionType(
    `a list of at most ${max}, each ${item.name}`,
    (value): value is readonly A[] =>
      Array.isArray(value) && value.length <= max && value.every((entry) => item.is(entry)),
  )

/**
 * A table of at most `max` names with values, such as `{ good: 1, bad: -1 }`.
 *
 * @default max is 10 000
 *
 * @example
 * nodeOptions({ weights: tableOf(numberFrom(-1, 1)) }, {})
 */
export const tableOf = <A>(item: t.Type<A, unknown>, max = 10_000): t.Type<Readonly<Record<string, A>>, unknown> =>
  optionType(
    `a table of at most ${max} names, each with ${item.name}`,
    (value): value is Readonly<Record<string, A>> =>
      typeof value === 'object' &&
      value !== null &&
      !Array.isArray(value) &&
      Object.keys(value).length <= max &&
      Object.values(value).every((entry) => item.is(entry)),
  )

/** A codec for each option, by its name. */
export type Codecs = Readonly<Record<string, t.Any>>
/** The type of options with these codecs. */
export type ModelOf<C extends Codecs> = { readonly [K in keyof C]: t.TypeOf<C[K]> }

/** Names of the options of codecs made by `nodeOptions`. */
const namesByCodec = new WeakMap<t.Any, readonly string[]>()

/**
 * The codec of a node's options, from the required and the optional ones. The node's factory applies the defaults. Unknown
 * names are refused.
 *
 * @example
 * const options = nodeOptions({ url: text }, { timeoutMs: wholeNumberFrom(100, 60_000) })
 */
export const nodeOptions = <Required extends Codecs, Optional extends Codecs>(
  required: Required,
  optional: Optional,
): t.Type<ModelOf<Required> & Partial<ModelOf<Optional>>, unknown> => {
  type Model = ModelOf<Required> & Partial<ModelOf<Optional>>
  const entries = [
    ...Object.entries(required).map(([name, codec]) => ({ name, codec, isRequired: true })),
    ...Object.entries(optional).map(([name, codec]) => ({ name, codec, isRequired: false })),
  ]
  const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
  const is = (value: unknown): value is Model =>
    isObject(value) &&
    entries.every(({ name, codec, isRequired }) => (!isRequired && value[name] === undefined) || codec.is(value[name]))
  const validate: t.Validate<unknown, Model> = (input, context) => {
    if (!isObject(input)) return t.failure(input, context)
    const faults: t.ValidationError[] = []
    const model: Record<string, unknown> = {}
    for (const { name, codec, isRequired } of entries) {
      const value = Object.hasOwn(input, name) ? input[name] : undefined
      if (value === undefined && !isRequired) continue
      const decoded = codec.validate(value, [...context, { key: name, type: codec, actual: value }])
      if (either.isLeft(decoded)) faults.push(...decoded.left)
      else model[name] = decoded.right
    }
    return faults.length > 0 ? t.failures(faults) : t.success(model as Model)
  }
  const codec = new t.Type<Model, unknown>('a table of options', is, validate, (value) => value)
  namesByCodec.set(codec, [...new Set(entries.map(({ name }) => name))])
  return codec
}

/**
 * The codec of a node without options.
 *
 * @example
 * defineNode({ name: 'mute', summary: 'Drops everything.', inputs: { audio: 'audio' }, outputs: {}, options: noOptions, open: () => () => EMPTY })
 */
export const noOptions = nodeOptions({}, {})

/** The names that a codec knows, including those of io-ts' own `type`, `partial`, `exact` and `intersection`. */
export const optionNames = (codec: t.Any): readonly string[] | undefined => {
  const known = namesByCodec.get(codec)
  if (known !== undefined) return known
  if (codec instanceof t.InterfaceType || codec instanceof t.PartialType) {
    return Object.keys(codec.props as Readonly<Record<string, unknown>>)
  }
  if (codec instanceof t.ExactType || codec instanceof t.ReadonlyType) return optionNames(codec.type as t.Any)
  if (!(codec instanceof t.IntersectionType)) return undefined
  const parts = (codec.types as readonly t.Any[]).map(optionNames)
  return parts.every((part) => part !== undefined) ? parts.flat() : undefined
}

/** An item of a list that is itself a table of options: a codec of `nodeOptions` that rejects unknown names. */
export const optionsItem = <Model>(what: string, codec: t.Type<Model, unknown>): t.Type<Model, unknown> => {
  const names = optionNames(codec) ?? []
  return optionType(
    `${what} of ${names.join(', ')}`,
    (value): value is Model =>
      isJsonObject(value) && Object.keys(value).every((name) => names.includes(name)) && codec.is(value),
  )
}
