import { either } from 'fp-ts'
import * as t from 'io-ts'
import type { FieldCodec } from './field-codecs.js'

/** A list of one kind of item; a refusal names the index of the item that does not fit. */
export const listOf = <A>(item: FieldCodec<A>): FieldCodec<readonly A[]> =>
  new t.Type(
    'a list',
    (value): value is readonly A[] => Array.isArray(value) && value.every(item.is),
    (input, context) => {
      if (!Array.isArray(input)) return t.failure(input, context)
      const list: A[] = []
      for (const [index, value] of input.entries()) {
        const decoded = item.validate(value, t.appendContext(context, String(index), item, value))
        if (either.isLeft(decoded)) return decoded
        list.push(decoded.right)
      }
      return t.success(list)
    },
    (list) => list.map((value) => item.encode(value)),
  )
