import { either } from 'fp-ts'
import type * as t from 'io-ts'
import type { ModelDescription } from '../engine.js'
import { invalidModel } from './model-files.js'

/** What each key of an engine's `model.json` must be, in words. */
export type ExpectedOptions<A> = { readonly [key in keyof A]-?: string }

/** The model's options, or throws `invalid-model` that names the first key that is wrong, missing or unknown. */
export const decodeModelOptions = <A>(
  model: ModelDescription,
  codec: t.Decoder<unknown, A>,
  expected: ExpectedOptions<A>,
): A => {
  const isKey = (key: string): key is string & keyof A => Object.hasOwn(expected, key)
  const unknownKey = Object.keys(model.options).find((key) => !isKey(key))
  if (unknownKey !== undefined) {
    const known = Object.keys(expected).join(', ')
    throw invalidModel(model, `model.json has the unknown key "${unknownKey}"; the keys are ${known}.`)
  }
  const decoded = codec.decode(model.options)
  if (either.isRight(decoded)) return decoded.right
  const key = decoded.left[0]?.context.map((entry) => entry.key).find(isKey)
  if (key === undefined) throw invalidModel(model, 'model.json must hold a JSON object.')
  throw invalidModel(model, `"${key}" in model.json must be ${expected[key]}.`)
}
