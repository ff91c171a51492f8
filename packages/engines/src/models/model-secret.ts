import {
  checkOptions,
  eitherOf,
  jsonObject,
  nonEmptyText,
  optionsCodec,
  optionsOf,
} from 'rxspeech/internal/protocol/validation'
import type { ModelDescription } from '../engine.js'
import { readModelFile } from './model-files.js'
import { invalidModel } from './model-json.js'

/** Where a secret is, which is never in `model.json`. */
export type SecretPlace = { readonly env: string } | { readonly file: string }

/** The key `secretFrom` of `model.json`. */
export const secretPlace = eitherOf(
  optionsCodec({ env: nonEmptyText }, {}, '{"env": "NAME"}'),
  optionsCodec({ file: nonEmptyText }, {}, '{"file": "name"}'),
)

/** Environment variables by name, such as `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Where an engine finds the secrets of its models. */
export interface SecretOptions {
  /** The environment variables that `secretFrom` of a model can name. @default process.env */
  readonly env?: Environment | undefined
}

const secretOptions = optionsOf<SecretOptions>()({}, { env: jsonObject })

/** Throws `invalid-options`. */
export const environmentOf = (given: SecretOptions): Environment =>
  checkOptions(secretOptions, given).env ?? process.env

/** Reads the secret; rejects with `invalid-model` that names the place of the secret and never its content. */
export const readSecret = async (model: ModelDescription, place: SecretPlace, env: Environment): Promise<string> => {
  if ('env' in place) {
    const secret = env[place.env] ?? ''
    if (secret !== '') return secret
    throw invalidModel(model, `"secretFrom" names the environment variable ${place.env}, which is not set.`)
  }
  const secret = (await readModelFile(model, 'secretFrom', place.file)).trim()
  if (secret !== '') return secret
  throw invalidModel(model, `"secretFrom" names the file ${JSON.stringify(place.file)}, which is empty.`)
}
