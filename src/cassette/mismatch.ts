import { isDeepStrictEqual } from 'node:util'
import { either } from 'fp-ts'
import { ownValue, parseJsonObject } from '../protocol/json-object.js'
import type { TapedMessage } from './cassette.js'
import { withoutSecretFields } from './secrets.js'

/** Where a client that plays against a cassette says something else than the recorded one did. */
export interface CassetteMismatch {
  readonly connection: number
  /** The line of the cassette that it was held against. */
  readonly line: number
  /** In words, without anything of what was said but names of messages and numbers of bytes. */
  readonly expected: string
  readonly heard: string
}

/** What a message is called: by its name, or as audio. */
export const wordsFor = ({ text, bytes = 0 }: TapedMessage): string =>
  text === undefined ? `${bytes} bytes of audio` : (nameOf(text) ?? 'a text without a name')

/** What makes two messages the same step of a session, whatever else they say. */
export const stepOf = ({ text }: TapedMessage): string =>
  text === undefined ? 'audio' : (nameOf(text)?.toLowerCase() ?? 'text')

/** Whether two texts say the same: as JSON, without regard to the order of fields, and whatever the token was. */
export const sameText = (recorded: string, heard: string): boolean => {
  const [one, other] = [recorded, heard].map((text) => parseJsonObject(withoutSecretFields(text)))
  if (one === undefined || other === undefined || either.isLeft(one) || either.isLeft(other)) return recorded === heard
  return isDeepStrictEqual(one.right, other.right)
}

const nameOf = (text: string): string | undefined => {
  const json = parseJsonObject(text)
  if (either.isLeft(json)) return undefined
  const name = ownValue(json.right, 'MessageName') ?? ownValue(json.right, 'message-name')
  return typeof name === 'string' ? name.slice(0, 64) : undefined
}
