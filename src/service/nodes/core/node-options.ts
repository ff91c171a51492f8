import { either } from 'fp-ts'
import * as t from 'io-ts'

/** A codec whose name completes "must be …". */
const option = <A>(expected: string, is: (value: unknown) => value is A): t.Type<A, unknown> =>
  new t.Type<A, unknown>(
    expected,
    is,
    (input, context) => (is(input) ? t.success(input) : t.failure(input, context)),
    (value) => value,
  )

export const text = option('a text that is not empty', (value): value is string => {
  return typeof value === 'string' && value !== ''
})

export const flag = option('true or false', (value): value is boolean => typeof value === 'boolean')

/** A number, whole or not, within bounds that are allowed themselves. */
export const numberFrom = (least: number, most: number): t.Type<number, unknown> =>
  option(
    `a number from ${least} to ${most}`,
    (value): value is number => typeof value === 'number' && value >= least && value <= most,
  )

export const wholeNumberFrom = (least: number, most: number): t.Type<number, unknown> =>
  option(
    `a whole number from ${least} to ${most}`,
    (value): value is number => Number.isInteger(value) && Number(value) >= least && Number(value) <= most,
  )

/** A whole number within bounds, or the one outside them that has a meaning of its own, such as -1 for no limit. */
export const wholeNumberOr = (exception: number, least: number, most: number): t.Type<number, unknown> =>
  option(
    `${exception}, or a whole number from ${least} to ${most}`,
    (value): value is number =>
      value === exception || (Number.isInteger(value) && Number(value) >= least && Number(value) <= most),
  )

export const oneOfWords = <Word extends string>(...words: readonly Word[]): t.Type<Word, unknown> =>
  option(
    `one of ${words.join(', ')}`,
    (value): value is Word => typeof value === 'string' && words.some((word) => word === value),
  )

/** A list of at most so many. */
export const listOf = <A>(item: t.Type<A, unknown>, most = 1000): t.Type<readonly A[], unknown> =>
  option(
    `a list of at most ${most}, each ${item.name}`,
    (value): value is readonly A[] =>
      Array.isArray(value) && value.length <= most && value.every((one) => item.is(one)),
  )

/** Names that lead to values, such as `{ good: 1, bad: -1 }`. */
export const tableOf = <A>(item: t.Type<A, unknown>, most = 10_000): t.Type<Readonly<Record<string, A>>, unknown> =>
  option(
    `a table of at most ${most} names, each with ${item.name}`,
    (value): value is Readonly<Record<string, A>> =>
      typeof value === 'object' &&
      value !== null &&
      !Array.isArray(value) &&
      Object.keys(value).length <= most &&
      Object.values(value).every((one) => item.is(one)),
  )

type Codecs = Readonly<Record<string, t.Any>>
type ModelOf<C extends Codecs> = { readonly [K in keyof C]: t.TypeOf<C[K]> }

/** Names of the options of codecs made by `nodeOptions`. */
const namesByCodec = new WeakMap<t.Any, readonly string[]>()

/**
 * The codec of a node's options, from those it must have and those it may: what the node does when one is left out is
 * for its factory. Keys that are neither are refused by name.
 */
export const nodeOptions = <Required extends Codecs, Optional extends Codecs>(
  required: Required,
  optional: Optional,
): t.Type<ModelOf<Required> & Partial<ModelOf<Optional>>, unknown> => {
  type Model = ModelOf<Required> & Partial<ModelOf<Optional>>
  const entries = [
    ...Object.entries(required).map(([name, codec]) => ({ name, codec, mustBe: true })),
    ...Object.entries(optional).map(([name, codec]) => ({ name, codec, mustBe: false })),
  ]
  const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
  const is = (value: unknown): value is Model =>
    isObject(value) &&
    entries.every(({ name, codec, mustBe }) => (!mustBe && value[name] === undefined) || codec.is(value[name]))
  const validate: t.Validate<unknown, Model> = (input, context) => {
    if (!isObject(input)) return t.failure(input, context)
    const faults: t.ValidationError[] = []
    const model: Record<string, unknown> = {}
    for (const { name, codec, mustBe } of entries) {
      const value = Object.hasOwn(input, name) ? input[name] : undefined
      if (value === undefined && !mustBe) continue
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

/** No options at all. */
export const noOptions = nodeOptions({}, {})

/** The names that a codec knows, also where it is made of io-ts' own `type`, `partial`, `exact` and `intersection`. */
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
