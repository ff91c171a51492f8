import { SpeechError } from '../errors/speech-error.js'
import { ownValue, type JsonObject } from './json-object.js'
import type { Field } from './message-codec.js'

/** As far as the two names of a field matter: the key in the model does not. */
type NamedFields = Readonly<Record<string, Pick<Field<unknown>, 'names'>>>

/**
 * `invalid-field` where a message gives one field under two of its names and says two things by them, such as `Tenant`
 * and `tenant_id` (decisions.md: field dialects): neither may win in silence. Undefined where it does not.
 */
export const twinField = (json: JsonObject, fields: NamedFields): SpeechError | undefined => {
  for (const { names } of Object.values(fields)) {
    const [first, ...others] = names.filter((name) => ownValue(json, name) !== undefined)
    if (first === undefined) continue
    const twin = others.find((name) => !sameValue(json[name], json[first]))
    if (twin !== undefined) {
      return new SpeechError('invalid-field', `${first} and ${twin} are one field and differ; give one of them.`)
    }
  }
  return undefined
}

/** A number says the same as its digits in a string. Objects, which may be of any depth, are not looked into. */
const sameValue = (one: unknown, other: unknown): boolean =>
  typeof one !== 'object' && typeof other !== 'object' && written(one) === written(other)

const written = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

const plainName = /^[A-Za-z][A-Za-z0-9 ._-]{0,31}$/

/** The name of a message that is not known, fit to stand in a refusal; nothing where it could be anything else. */
export const shownName = (name: string): string => (plainName.test(name) ? ` "${name}"` : '')
