// Apart from `json-object.ts`, which a page loads at first.
import { either } from 'fp-ts'
import { SpeechError } from '../errors/speech-error.js'
import { isJsonObject, type JsonObject } from './json-object.js'

/** The object's own value under a name; members of `Object.prototype` are never fields of a message. */
export const ownValue = (object: JsonObject, name: string): unknown =>
  Object.hasOwn(object, name) ? object[name] : undefined

/** The value of a JSON text; undefined if the text is not JSON. */
export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Reads a text message, a JSON object; anything else is `invalid-json`. The error repeats nothing of the text. */
export const parseJsonObject = (text: string): either.Either<SpeechError, JsonObject> => {
  const value = parseJson(text)
  if (isJsonObject(value)) return either.right(value)
  const sentence =
    value === undefined
      ? 'The text is not JSON; send one JSON object.'
      : 'The text is JSON but no object; send one JSON object.'
  return either.left(new SpeechError('invalid-json', sentence))
}
