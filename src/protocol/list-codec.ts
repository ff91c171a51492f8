import { either } from 'fp-ts'
import { codec, failure, validatePart } from './codec.js'
import type { FieldCodec } from './field-codecs.js'

/** A list of one kind of item; a refusal names the index of the item that does not fit. */
export const listOf = <A>(item: FieldCodec<A>): FieldCodec<readonly A[]> =>
  codec(
    'a list',
    (value): value is readonly A[] => Array.isArray(value) && value.every(item.is),
    (input, context) => {
      if (!Array.isArray(input)) return failure(input, context)
      const list: A[] = []
      for (const [index, value] of input.entries()) {
        const decoded = validatePart(item, value, String(index), context)
        if (either.isLeft(decoded)) return decoded
        list.push(decoded.right)
      }
      return either.right(list)
    },
    (list) => list.map((value) => item.encode(value)),
  )
