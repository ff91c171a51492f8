import { either, function as f } from 'fp-ts'
import { encodings, maxSampleRateHz, minSampleRateHz, type Encoding } from '../audio/format.js'
import { SpeechError } from '../errors/speech-error.js'
import { isJsonObject, type JsonObject } from './json-object.js'
import { ownValue, parseJsonObject } from './parse-json.js'
import {
  conflictingAlias,
  decodeWith,
  integer,
  lenient,
  messageCodec,
  oneOfNumbers,
  optional,
  required,
  shownName,
  type Fields,
  type MessageCodec,
  type NameIndex,
} from './message-codec.js'
import { fieldsOf, recognitionParameters, type RecognitionParameters } from './recognition-parameters.js'
import { sessionId } from './session-id.js'
import { codec, jsonObject, nonEmptyText, oneOf, text, type Codec } from './validation.js'

/**
 * The kind of a message of the dataflow stream (PROTOCOL 3). `AUDIO` is the proto default: a message without a kind is
 * audio.
 */
export const contentType = { audio: 0, event: 1, request: 2, response: 3 } as const

/** Which names the client writes: those of PROTOCOL 3.1, or the older kebab form. */
export type Dialect = 'pascal' | 'kebab'

/** A value of `Settings`: text, a finite number or a truth value. */
export type Primitive = string | number | boolean

/** `Settings` and `CallProperties` of a Start or an Update: primitive values or lists of them (PROTOCOL 3.1). */
export type Settings = Readonly<Record<string, Primitive | readonly Primitive[]>>

const isPrimitive = (value: unknown): value is Primitive =>
  typeof value === 'string' || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))

const isSetting = (value: unknown): boolean => isPrimitive(value) || (Array.isArray(value) && value.every(isPrimitive))

const isSettings = (value: unknown): value is Settings =>
  isJsonObject(value) && !Object.hasOwn(value, '__proto__') && Object.values(value).every(isSetting)

/** JSON may contain `__proto__` as a name, and code that merges by assignment would set a prototype with it. */
const withoutPrototype = (input: unknown): unknown =>
  isJsonObject(input) && Object.hasOwn(input, '__proto__')
    ? Object.fromEntries(Object.entries(input).filter(([name]) => name !== '__proto__'))
    : input

export const settings: Codec<Settings> = codec(
  'an object of strings, numbers, booleans and lists of them',
  isSettings,
  { read: withoutPrototype },
)

/** The `Settings` of a project that recognizes (PROTOCOL 3.4). */
export interface RecognitionSettings extends RecognitionParameters {
  readonly modelName?: string | undefined
  readonly modelTenant?: string | undefined
  readonly modelVersion?: string | undefined
}

export const settingFields: Fields<RecognitionSettings> = {
  modelName: optional(text, 'ModelName', 'model-name'),
  modelTenant: optional(text, 'ModelTenant', 'model-tenant'),
  modelVersion: optional(text, 'ModelVersion', 'model-version'),
  ...fieldsOf(recognitionParameters, ({ setting, field }) => [setting, field]),
}

export const recognitionSettings: MessageCodec<RecognitionSettings> = messageCodec(settingFields)

/** The description of the audio (PROTOCOL 3.1, Audio). */
export interface StartAudio {
  readonly sampleRateHz: number
  readonly channels: 1 | 2
  readonly encoding: Encoding
  /** Passed to the project unchanged. */
  readonly output?: JsonObject | undefined
}

/** The first message of a dataflow session (PROTOCOL 3.1, Start). */
export interface StartRequest {
  readonly audio: StartAudio
  readonly tenant: string
  readonly token: string
  readonly projectName: string
  readonly language?: string | undefined
  readonly settings?: Settings | undefined
  readonly callProperties?: Settings | undefined
  /** That of the first response of the session, in its later starts. */
  readonly sessionId?: string | undefined
}

/** Merged into the settings and call properties that the nodes see (PROTOCOL 3.1, Update). */
export interface UpdateRequest {
  /** Names to set in the `Settings` of the session. */
  readonly settings?: Settings | undefined
  /** Names to set in its `CallProperties`. */
  readonly callProperties?: Settings | undefined
}

export type DataflowRequest =
  | ({ readonly request: 'Start' } & StartRequest)
  | ({ readonly request: 'Update' } & UpdateRequest)
  | { readonly request: 'Finalize' }
  | { readonly request: 'Stop' }

const audioFields: Fields<StartAudio> = {
  sampleRateHz: required(
    integer({ min: minSampleRateHz, max: maxSampleRateHz, unit: 'Hz' }),
    'SampleRate',
    'sample-rate',
  ),
  channels: required(oneOfNumbers(1, 2), 'ChannelCount', 'channel-count'),
  encoding: required(oneOf(...encodings), 'Encoding', 'encoding'),
  output: optional(jsonObject, 'Output', 'output'),
}

const startFields = (nameIndex: NameIndex): Fields<StartRequest> => ({
  audio: required(messageCodec<StartAudio>(audioFields, nameIndex), 'Audio', 'audio'),
  tenant: required(nonEmptyText, 'Tenant', 'tenant', 'tenant_id'),
  token: required(nonEmptyText, 'Token', 'token'),
  projectName: required(nonEmptyText, 'ProjectName', 'project-name'),
  language: optional(text, 'Language', 'language'),
  settings: optional(settings, 'Settings', 'settings'),
  callProperties: optional(settings, 'CallProperties', 'call-properties'),
  sessionId: optional(sessionId, 'SessionId', 'session-id'),
})

const updateFields: Fields<UpdateRequest> = {
  settings: optional(settings, 'Settings', 'settings'),
  callProperties: optional(settings, 'CallProperties', 'call-properties'),
}

const codecsOf = (nameIndex: NameIndex) => ({
  start: messageCodec<StartRequest>(startFields(nameIndex), nameIndex),
  update: messageCodec<UpdateRequest>(updateFields, nameIndex),
})

const codecs = { pascal: codecsOf(0), kebab: codecsOf(1) }

/** Those of an Update are among those of a Start. */
const topFields = startFields(0)

const conflictIn = (json: JsonObject): SpeechError | undefined => {
  // The name is compared in lower case, because any letter case is accepted.
  const names = ['MessageName', 'message-name'].map((key) => ownValue(json, key)).filter((name) => name !== undefined)
  if (new Set(names.map((name) => (typeof name === 'string' ? name.toLowerCase() : name))).size > 1) {
    return new SpeechError(
      'invalid-field',
      'MessageName and message-name are the same field and differ; send one of them.',
    )
  }
  const audio = ownValue(json, 'Audio') ?? ownValue(json, 'audio')
  return conflictingAlias(json, topFields) ?? (isJsonObject(audio) ? conflictingAlias(audio, audioFields) : undefined)
}

export const requestNames = ['Start', 'Update', 'Finalize', 'Stop'] as const
export type DataflowRequestName = (typeof requestNames)[number]

/** The request's name as in the message, known or not. */
const statedName = (json: JsonObject): string => {
  const name = ownValue(json, 'MessageName') ?? ownValue(json, 'message-name')
  return typeof name === 'string' ? name : ''
}

/** Why a request could not be read, and which one it was, so that the answer can name it. */
export interface UnreadableRequest {
  /** The request's name where it is a known one. */
  readonly request?: DataflowRequestName | undefined
  readonly error: SpeechError
}

/** Reads a request in either dialect. Never throws. */
export const readDataflowRequest = (json: string): either.Either<UnreadableRequest, DataflowRequest> =>
  f.pipe(
    parseJsonObject(json),
    either.mapLeft((error): UnreadableRequest => ({ error })),
    either.chain((object) => {
      const name = statedName(object)
      const request = requestNames.find((known) => known.toLowerCase() === name.toLowerCase())
      if (request === undefined) return either.left<UnreadableRequest, DataflowRequest>({ error: unknownRequest(name) })
      const conflict = conflictIn(object)
      if (conflict !== undefined) return either.left<UnreadableRequest, DataflowRequest>({ request, error: conflict })
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

/** Writes a request in either dialect. */
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

/** The answer to a request (PROTOCOL 3.1, Response). Other services may omit the name, so clients do not rely on it. */
export interface DataflowResponse {
  readonly messageName?: string | undefined
  readonly operationResult: string
  /** Of a `StartResponse`. */
  readonly sessionId?: string | undefined
}

export const dataflowResponse: MessageCodec<DataflowResponse> = messageCodec<DataflowResponse>({
  messageName: lenient(text, 'MessageName', 'message-name'),
  operationResult: required(text, 'operation-result', 'OperationResult'),
  sessionId: lenient(sessionId, 'SessionId', 'session-id'),
})

export const readDataflowResponse = (json: string): either.Either<SpeechError, DataflowResponse> =>
  f.pipe(
    parseJsonObject(json),
    either.chain((object) => decodeWith(dataflowResponse, object)),
  )

/** Named `StartResponse` for `Start`, and so on; without a name where the request could not be read. */
export const writeDataflowResponse = (
  operationResult: string,
  request?: DataflowRequestName,
  session?: string,
): string => {
  const messageName = request === undefined ? undefined : `${request}Response`
  return JSON.stringify(dataflowResponse.encode({ messageName, operationResult, sessionId: session }))
}
