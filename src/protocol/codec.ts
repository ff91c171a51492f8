import { either } from 'fp-ts'
import type * as t from 'io-ts'

/**
 * What io-ts calls a type: a name, a guard, a decoder and an encoder. Made here of io-ts' interfaces and not of its class,
 * for the module of that class brings all of io-ts' own types into every bundle, whichever of them is used.
 */
export type Codec<A, O = unknown> = t.Decoder<unknown, A> & t.Encoder<A, O> & { readonly is: t.Is<A> }

export const codec = <A, O>(
  name: string,
  is: t.Is<A>,
  validate: t.Validate<unknown, A>,
  encode: t.Encode<A, O>,
): Codec<A, O> => {
  const self: Codec<A, O> = {
    name,
    is,
    validate,
    encode,
    decode: (actual) => validate(actual, [{ key: '', type: self, actual }]),
  }
  return self
}

/** The value does not fit; the last entry of the context says what was expected. */
export const failure = (value: unknown, context: t.Context): t.Validation<never> => either.left([{ value, context }])

/** Decodes a part of a value, under the key that a refusal names. */
export const validatePart = <A>(part: Codec<A>, actual: unknown, key: string, context: t.Context): t.Validation<A> =>
  part.validate(actual, [...context, { key, type: part, actual }])
