import { either, function as f } from 'fp-ts'
import { encodings, maxSampleRateHz, minSampleRateHz, type Encoding } from '../audio/format.js'
import { SpeechError } from '../errors/speech-error.js'
import { integer, jsonObject, nonEmptyText, oneOf, text } from './field-codecs.js'
import { isJsonObject, ownValue, parseJsonObject, type JsonObject } from './json-object.js'
import { decodeWith, messageCodec, optional, required, type Fields, type NameIndex } from './message-codec.js'
import { settings, type Settings } from './settings.js'
import { shownName, twinField } from './twin-fields.js'

/** The names that a field takes: the description's, or the older kebab form (decisions.md: field dialects). */
export type Dialect = 'pascal' | 'kebab'

/** service.md 2.5: the description of the audio. */
export interface StartAudio {
  readonly sampleRateHz: number
  readonly channels: 1 | 2
  readonly encoding: Encoding
  /** Handed on to the project as it came (decisions.md: further Start fields). */
  readonly output?: JsonObject
}

/** service.md 2.5: the first message of a dataflow session. */
export interface StartRequest {
  readonly audio: StartAudio
  readonly tenant: string
  readonly token: string
  readonly projectName: string
  readonly language?: string
  readonly settings?: Settings
  readonly callProperties?: Settings
}

/** decisions.md, ending a gRPC session: merges into what the nodes see. */
export interface UpdateRequest {
  readonly settings?: Settings
  readonly callProperties?: Settings
}

export type DataflowRequest =
  | ({ readonly request: 'Start' } & StartRequest)
  | ({ readonly request: 'Update' } & UpdateRequest)
  | { readonly request: 'Finalize' }
  | { readonly request: 'Stop' }

const audioFields: Fields<StartAudio> = {
  sampleRateHz: required(
    integer(`a whole number of Hz from ${minSampleRateHz} to ${maxSampleRateHz}`, minSampleRateHz, maxSampleRateHz),
    'SampleRate',
    'sample-rate',
  ),
  channels: required(oneOf(1, 2), 'ChannelCount', 'channel-count'),
  encoding: required(oneOf(...encodings), 'Encoding', 'encoding'),
  output: optional(jsonObject, 'Output', 'output'),
}

const startFields = (nameIndex: NameIndex): Fields<StartRequest> => ({
  audio: required(messageCodec<StartAudio>('an object', audioFields, nameIndex), 'Audio', 'audio'),
  tenant: required(nonEmptyText(), 'Tenant', 'tenant', 'tenant_id'),
  token: required(nonEmptyText(), 'Token', 'token'),
  projectName: required(nonEmptyText(), 'ProjectName', 'project-name'),
  language: optional(text, 'Language', 'language'),
  settings: optional(settings, 'Settings', 'settings'),
  callProperties: optional(settings, 'CallProperties', 'call-properties'),
})

const updateFields: Fields<UpdateRequest> = {
  settings: optional(settings, 'Settings', 'settings'),
  callProperties: optional(settings, 'CallProperties', 'call-properties'),
}

const codecsOf = (nameIndex: NameIndex) => ({
  start: messageCodec<StartRequest>('an object', startFields(nameIndex), nameIndex),
  update: messageCodec<UpdateRequest>('an object', updateFields, nameIndex),
})

const codecs = { pascal: codecsOf(0), kebab: codecsOf(1) }

/** Those of an Update are among those of a Start. */
const topFields = startFields(0)

/** What is wrong where a field is given twice. The name is known in any letter case. */
const twinOf = (json: JsonObject): SpeechError | undefined => {
  const names = ['MessageName', 'message-name'].map((key) => ownValue(json, key)).filter((name) => name !== undefined)
  if (new Set(names.map((name) => (typeof name === 'string' ? name.toLowerCase() : name))).size > 1) {
    return new SpeechError('invalid-field', 'MessageName and message-name are one field and differ; give one of them.')
  }
  const audio = ownValue(json, 'Audio') ?? ownValue(json, 'audio')
  return twinField(json, topFields) ?? (isJsonObject(audio) ? twinField(audio, audioFields) : undefined)
}

export const requestNames = ['Start', 'Update', 'Finalize', 'Stop'] as const
export type DataflowRequestName = (typeof requestNames)[number]

/** The request's name as it stands in the message, known or not; the service answers an unknown one by this name. */
const statedName = (json: JsonObject): string => {
  const name = ownValue(json, 'MessageName') ?? ownValue(json, 'message-name')
  return typeof name === 'string' ? name : ''
}

/** Why a request could not be read, and which one it was, so that the answer can name it. */
export interface UnreadableRequest {
  /** The request's name where it is a known one. */
  readonly request?: DataflowRequestName
  readonly error: SpeechError
}

/** Reads a request in either dialect. Never throws. */
export const readDataflowRequest = (json: string): either.Either<UnreadableRequest, DataflowRequest> =>
  f.pipe(
    parseJsonObject(json),
    either.mapLeft((error): UnreadableRequest => ({ error })),
    either.chain((object) => {
      const name = statedName(object)
      const request = requestNames.find((one) => one.toLowerCase() === name.toLowerCase())
      if (request === undefined) return either.left<UnreadableRequest, DataflowRequest>({ error: unknownRequest(name) })
      const twin = twinOf(object)
      if (twin !== undefined) return either.left<UnreadableRequest, DataflowRequest>({ request, error: twin })
      return f.pipe(
        decodeRequest(request, object),
        either.mapLeft((error): UnreadableRequest => ({ request, error })),
      )
    }),
  )

const decodeRequest = (request: DataflowRequestName, json: JsonObject): either.Either<SpeechError, DataflowRequest> => {
  switch (request) {
    case 'Start':
      return f.pipe(
        decodeWith(codecs.pascal.start, json),
        either.map((start) => ({ request, ...start })),
      )
    case 'Update':
      return f.pipe(
        decodeWith(codecs.pascal.update, json),
        either.map((update) => ({ request, ...update })),
      )
    case 'Finalize':
    case 'Stop':
      return either.right({ request })
  }
}

const unknownRequest = (name: string): SpeechError =>
  new SpeechError(
    'unknown-message',
    name === ''
      ? 'MessageName must be a string; send Start, Update, Finalize or Stop.'
      : `MessageName${shownName(name)} is unknown; send Start, Update, Finalize or Stop.`,
  )

/** Writes a request in the description's form, or in the older kebab form. */
export const writeDataflowRequest = (message: DataflowRequest, dialect: Dialect = 'pascal'): string => {
  const name =
    dialect === 'pascal' ? { MessageName: message.request } : { 'message-name': message.request.toLowerCase() }
  const { start, update } = codecs[dialect]
  switch (message.request) {
    case 'Start':
      return JSON.stringify({ ...name, ...start.encode(message) })
    case 'Update':
      return JSON.stringify({ ...name, ...update.encode(message) })
    case 'Finalize':
    case 'Stop':
      return JSON.stringify(name)
  }
}
