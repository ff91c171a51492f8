// Lists and records of the validation kit. Messages use them, so that a page loads them with its first session.
import { either } from 'fp-ts'
import { failure, failures, success, Type, type Context, type Errors, type ValidationError } from 'io-ts'
import { isJsonObject } from './json-object.js'
import { addErrors, validatePart, type Codec } from './validation.js'

/**
 * As `validatePart`, for hot paths: the context is created only for an invalid part, which is validated twice for that.
 */
export const tryPart = <A>(
  part: Codec<A>,
  actual: unknown,
  key: string | number,
  context: Context,
): either.Either<Errors, A> => {
  const decoded = part.validate(actual, context)
  return either.isRight(decoded) ? decoded : validatePart(part, actual, String(key), context)
}

export interface LengthLimit {
  readonly maxLength?: number | undefined
}

/** A list of one kind of item; an issue names the index of the item. */
export const listOf = <A>(item: Codec<A>, { maxLength = Infinity }: LengthLimit = {}): Codec<readonly A[]> =>
  new Type<readonly A[], unknown>(
    `a list${maxLength === Infinity ? '' : ` of at most ${maxLength}`}, each ${item.name}`,
    (value): value is readonly A[] => Array.isArray(value) && value.length <= maxLength && value.every(item.is),
    (input, context) => {
      if (!Array.isArray(input) || input.length > maxLength) return failure(input, context)
      const list: A[] = []
      const errors: ValidationError[] = []
      for (const [index, value] of input.entries()) {
        const decoded = tryPart(item, value, index, context)
        if (either.isRight(decoded)) list.push(decoded.right)
        else if (addErrors(errors, decoded.left)) break
      }
      return errors.length > 0 ? failures(errors) : success(list)
    },
    (list) => list.map((value) => item.encode(value)),
  )

/** Free names with one kind of value, such as `{ good: 1, bad: -1 }`. The name `__proto__` is refused. */
export const recordOf = <A>(
  value: Codec<A>,
  { maxLength = Infinity }: LengthLimit = {},
): Codec<Readonly<Record<string, A>>> => {
  const entriesOf = (input: unknown): readonly (readonly [string, unknown])[] | undefined => {
    const entries = isJsonObject(input) && !Object.hasOwn(input, '__proto__') ? Object.entries(input) : undefined
    return entries === undefined || entries.length > maxLength ? undefined : entries
  }
  return new Type<Readonly<Record<string, A>>, unknown>(
    `an object${maxLength === Infinity ? '' : ` of at most ${maxLength} names`}, each with ${value.name}`,
    (input): input is Readonly<Record<string, A>> => entriesOf(input)?.every(([, one]) => value.is(one)) === true,
    (input, context) => {
      const entries = entriesOf(input)
      if (entries === undefined) return failure(input, context)
      const record: Record<string, A> = {}
      const errors: ValidationError[] = []
      for (const [name, one] of entries) {
        const decoded = validatePart(value, one, name, context)
        if (either.isRight(decoded)) record[name] = decoded.right
        else if (addErrors(errors, decoded.left)) break
      }
      return errors.length > 0 ? failures(errors) : success(record)
    },
    (record) => Object.fromEntries(Object.entries(record).map(([name, one]) => [name, value.encode(one)])),
  )
}
