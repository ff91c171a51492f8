import { isJsonObject, type JsonObject } from 'rxspeech/internal/protocol/json-object'
import { parseJson } from 'rxspeech/internal/protocol/parse-json'
import { invalidField, OpenAiError } from '../openai-errors/openai-error.js'
import { base64Bytes, readUsualAppend } from './append-message.js'

export type ClientEvent = ClientMessage & { readonly eventId: string | undefined }

type ClientMessage =
  | { readonly type: 'update'; readonly session: JsonObject }
  | { readonly type: 'append'; readonly audio: Uint8Array }
  | { readonly type: 'commit' | 'clear' }
  | { readonly type: 'retrieve' | 'delete'; readonly itemId: string }

/** Why a message is not handled, and its `event_id`, which the answer has as well. */
export interface Unreadable {
  readonly type: 'unreadable'
  readonly error: OpenAiError
  readonly eventId: string | undefined
}

/** One kind of message. */
export interface EventRow {
  /** What the service makes of it. */
  readonly support: string
  /** Throws what is wrong with the message. */
  readonly read: (json: JsonObject, name: string) => ClientMessage
}

const refused = (support: string): EventRow => ({
  support: `no: ${support}`,
  read: (_json, name) => {
    throw invalidField('type', `${name} is not supported here: ${support}.`, 'unsupported_event')
  },
})

const textOf = (json: JsonObject, field: string): string => {
  const value = json[field]
  if (typeof value === 'string') return value
  throw invalidField(
    field,
    `${field} must be a string.`,
    value === undefined ? 'missing_required_parameter' : undefined,
  )
}

/** All messages of a client. Any other is refused by its name. */
export const eventRows: Readonly<Record<string, EventRow>> = {
  'session.update': {
    support: 'the settings below; all others stay as they are',
    read: ({ session }) => {
      if (!isJsonObject(session)) throw invalidField('session', 'session must be an object.')
      return { type: 'update', session }
    },
  },
  'input_audio_buffer.append': {
    support: 'audio as base64, of any length; a message has at most 1 MiB (`limits.maxMessageBytes`)',
    read: (json) => ({ type: 'append', audio: audioOf(textOf(json, 'audio')) }),
  },
  'input_audio_buffer.commit': {
    support: 'ends an item, which is transcribed as a whole; with `server_vad` also within speech',
    read: () => ({ type: 'commit' }),
  },
  'input_audio_buffer.clear': { support: 'drops the audio that is in no item', read: () => ({ type: 'clear' }) },
  'conversation.item.retrieve': {
    support: 'one of the last 100 items',
    read: (json) => ({ type: 'retrieve', itemId: textOf(json, 'item_id') }),
  },
  'conversation.item.delete': {
    support: 'one of the last 100 items',
    read: (json) => ({ type: 'delete', itemId: textOf(json, 'item_id') }),
  },
  'conversation.item.create': refused('items come from audio'),
  'conversation.item.truncate': refused('there are no answers'),
  'response.create': refused('there are no answers'),
  'response.cancel': refused('there are no answers'),
  'output_audio_buffer.clear': refused('there are no answers'),
}

/** Reads a message of the client. Never throws. */
export const readClientEvent = (message: string | Uint8Array): ClientEvent | Unreadable => {
  const audio = typeof message === 'string' ? readUsualAppend(message) : undefined
  return audio === undefined ? readAnyEvent(message) : { type: 'append', audio, eventId: undefined }
}

/** Reads a message whatever its spelling. */
export const readAnyEvent = (message: string | Uint8Array): ClientEvent | Unreadable => {
  let eventId: string | undefined
  try {
    if (typeof message !== 'string') throw unreadable('Send JSON as text; audio is the base64 in audio of append.')
    const json = parseJson(message)
    if (!isJsonObject(json)) throw unreadable('Send one JSON object as text.')
    if (typeof json['event_id'] === 'string') eventId = json['event_id']
    const name = textOf(json, 'type')
    const row = Object.hasOwn(eventRows, name) ? eventRows[name] : undefined
    if (row === undefined) throw unknownEvent(name)
    return { ...row.read(json, name), eventId }
  } catch (error) {
    if (error instanceof OpenAiError) return { type: 'unreadable', error, eventId }
    throw error
  }
}

const unreadable = (sentence: string): OpenAiError => new OpenAiError(400, sentence, 'invalid_message')

const unknownEvent = (name: string): OpenAiError => {
  const shown = JSON.stringify(name.slice(0, 100))
  return invalidField('type', `The type ${shown} is not known here; send one of ${Object.keys(eventRows).join(', ')}.`)
}

const audioOf = (base64: string): Uint8Array => {
  const audio = base64Bytes(base64)
  if (audio === undefined) throw invalidField('audio', 'audio must be base64.', 'invalid_audio')
  return audio
}
