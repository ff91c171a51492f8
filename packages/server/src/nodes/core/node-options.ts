// The codecs of a node's options: those of the validation kit, under the names of `rxspeech-service/nodes`.
import * as t from 'io-ts'
import { listOf as listOfAny, recordOf } from 'rxspeech/internal/protocol/collections'
import {
  type Codecs,
  flag as boolean,
  nonEmptyText as anyNonEmptyText,
  number,
  oneOf,
  optionsCodec,
  wholeNumber,
} from 'rxspeech/internal/protocol/validation'

/**
 * True or false.
 *
 * @example
 * nodeOptions({}, { partials: flag })
 */
export const flag: t.Type<boolean, unknown> = boolean

/**
 * A string that is not empty.
 *
 * @example
 * nodeOptions({ name: nonEmptyText }, {})
 */
export const nonEmptyText: t.Type<string, unknown> = anyNonEmptyText

/**
 * A number from `min` to `max`, inclusive.
 *
 * @example
 * nodeOptions({ gainDb: numberFrom(-60, 60) }, {})
 */
export const numberFrom = (min: number, max: number): t.Type<number, unknown> => number({ min, max })

/**
 * A whole number from `min` to `max`, inclusive.
 *
 * @example
 * nodeOptions({}, { everyMs: wholeNumberFrom(20, 60_000) })
 */
export const wholeNumberFrom = (min: number, max: number): t.Type<number, unknown> => wholeNumber({ min, max })

/**
 * One of several words.
 *
 * @example
 * nodeOptions({ to: oneOfWords('mono', 'stereo') }, {})
 */
export const oneOfWords = <Word extends string>(...words: readonly Word[]): t.Type<Word, unknown> => oneOf(...words)

/**
 * A list of at most `max` items; a fault names the index of its item.
 *
 * @default max is 1000
 *
 * @example
 * nodeOptions({ phrases: listOf(nonEmptyText) }, {})
 */
export const listOf = <A>(item: t.Type<A, unknown>, max = 1000): t.Type<readonly A[], unknown> =>
  listOfAny(item, { maxLength: max })

/**
 * A table of at most `max` names with values, such as `{ good: 1, bad: -1 }`; a fault names its name.
 *
 * @default max is 10 000
 *
 * @example
 * nodeOptions({ weights: tableOf(numberFrom(-1, 1)) }, {})
 */
export const tableOf = <A>(item: t.Type<A, unknown>, max = 10_000): t.Type<Readonly<Record<string, A>>, unknown> =>
  recordOf(item, { maxLength: max })

/** The type of options with these codecs. */
export type ModelOf<C extends Codecs> = { readonly [K in keyof C]: t.TypeOf<C[K]> }
/** The codec of a table of options: all of `Required`, and any of `Optional`. */
export type NodeOptionsCodec<Required extends Codecs, Optional extends Codecs> = t.Type<
  ModelOf<Required> & Partial<ModelOf<Optional>>,
  unknown
>

/**
 * The codec of a node's options, from the required and the optional ones. The node's factory applies the defaults; an
 * option that is `undefined` is left out. Unknown names are refused.
 *
 * @example
 * const options = nodeOptions({ url: nonEmptyText }, { timeoutMs: wholeNumberFrom(100, 60_000) })
 */
export const nodeOptions = <Required extends Codecs, Optional extends Codecs>(
  required: Required,
  optional: Optional,
): NodeOptionsCodec<Required, Optional> => tableCodec(required, optional, 'a table of options')

/** An item of a list that is itself a table of options, such as "a step of onMs, offMs". */
export const optionsItem = <Required extends Codecs, Optional extends Codecs>(
  what: string,
  required: Required,
  optional: Optional,
): NodeOptionsCodec<Required, Optional> =>
  tableCodec(required, optional, `${what} of ${Object.keys({ ...required, ...optional }).join(', ')}`)

const tableCodec = <Required extends Codecs, Optional extends Codecs>(
  required: Required,
  optional: Optional,
  expected: string,
): NodeOptionsCodec<Required, Optional> =>
  optionsCodec(required, optional, expected) as t.Type<unknown> as NodeOptionsCodec<Required, Optional>

/**
 * The codec of a node without options.
 *
 * @example
 * const [inputs, open] = [{ audio: 'audio' } as const, () => () => EMPTY]
 * defineNode({ name: 'mute', summary: 'Drops everything.', inputs, outputs: {}, options: noOptions, open })
 */
export const noOptions = nodeOptions({}, {})

/** The names that a codec of io-ts knows: `type`, `partial`, `exact` and `intersection`, which ignore other names. */
export const propertyNames = (codec: t.Any): readonly string[] | undefined => {
  if (codec instanceof t.InterfaceType || codec instanceof t.PartialType) {
    return Object.keys(codec.props as Readonly<Record<string, unknown>>)
  }
  if (codec instanceof t.ExactType || codec instanceof t.ReadonlyType) return propertyNames(codec.type as t.Any)
  if (!(codec instanceof t.IntersectionType)) return undefined
  const parts = (codec.types as readonly t.Any[]).map(propertyNames)
  return parts.every((part) => part !== undefined) ? parts.flat() : undefined
}
