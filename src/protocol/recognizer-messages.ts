import { either, function as f } from 'fp-ts'
import { maxSampleRateHz, minSampleRateHz } from '../audio/format.js'
import { SpeechError } from '../errors/speech-error.js'
import type { JsonObject } from './json-object.js'
import { ownValue, parseJson, parseJsonObject } from './parse-json.js'
import { listOf } from './collections.js'
import {
  confidenceText,
  decodeWith,
  integer,
  integerText,
  lenient,
  markText,
  messageCodec,
  optional,
  posteriorText,
  required,
  shownName,
  slotsCodec,
  type Fields,
  type MessageCodec,
} from './message-codec.js'
import { fieldsOf, recognitionParameters, type RecognitionParameters } from './recognition-parameters.js'
import { sessionId } from './session-id.js'
import type { Slots, Word } from './session-event.js'
import { anything, codec, nonEmptyText, oneOf, text, type Codec } from './validation.js'

/** Starts a recognition (PROTOCOL 4.2, recognize). The service has a default for each omitted field. */
export interface RecognizeRequest extends RecognitionParameters {
  /** 16-bit signed samples, one channel. */
  readonly audioFormat: 'pcm'
  readonly modelName: string
  readonly modelTenant?: string | undefined
  readonly modelVersion?: string | undefined
  readonly sampleRateHz: number
  /** That of the first response of the session, in its later requests. */
  readonly sessionId?: string | undefined
}

const recognizeRequest: MessageCodec<RecognizeRequest> = messageCodec<RecognizeRequest>({
  audioFormat: required(oneOf('pcm'), 'audio-format'),
  modelName: required(nonEmptyText, 'model-name'),
  modelTenant: optional(text, 'model-tenant'),
  modelVersion: optional(text, 'model-version'),
  sampleRateHz: required(integer({ min: minSampleRateHz, max: maxSampleRateHz, unit: 'Hz' }), 'sample-rate'),
  sessionId: optional(sessionId, 'session-id'),
  ...fieldsOf(recognitionParameters, ({ field }) => [field]),
})

export type RecognizerRequest =
  | ({ readonly request: 'recognize' } & RecognizeRequest)
  | { readonly request: 'stop-recognition' }
  | { readonly request: 'finalize-recognition' }

export type RecognizerRequestName = RecognizerRequest['request']

/** Why a request could not be read, and its name if that is known, so that the answer can name it. */
export interface UnreadableRecognizerRequest {
  readonly request?: RecognizerRequestName | undefined
  readonly error: SpeechError
}

type ReadRequest = either.Either<UnreadableRecognizerRequest, RecognizerRequest>

const requestFrom = (json: JsonObject): ReadRequest => {
  const name = ownValue(json, 'message-name')
  switch (name) {
    case 'recognize':
      return f.pipe(
        decodeWith(recognizeRequest, json),
        either.bimap(
          (error) => ({ request: name, error }),
          (request) => ({ request: name, ...request }),
        ),
      )
    case 'stop-recognition':
    case 'finalize-recognition':
      return either.right({ request: name })
    default: {
      const shown =
        typeof name === 'string' ? `message-name${shownName(name)} is unknown` : 'message-name must be a string'
      const message = `${shown}; send recognize, stop-recognition or finalize-recognition.`
      return either.left({ error: new SpeechError('unknown-message', message) })
    }
  }
}

/** Reads a text frame of the client. Never throws. */
export const readRecognizerRequest = (json: string): ReadRequest =>
  f.pipe(
    parseJsonObject(json),
    either.mapLeft((error): UnreadableRecognizerRequest => ({ error })),
    either.chain(requestFrom),
  )

export const writeRecognizerRequest = (message: RecognizerRequest): string =>
  JSON.stringify({
    'message-name': message.request,
    ...(message.request === 'recognize' ? recognizeRequest.encode(message) : {}),
  })

/** The answer to a request of the client (PROTOCOL 4.2, Responses). */
export interface RecognizerResponse {
  readonly operationResult: string
  readonly recognitionId?: string
  /** Of a `recognize-response`. */
  readonly sessionId?: string | undefined
}

/** The common fields of the results (PROTOCOL 4.2, Results). Other services may send only the text. */
export interface RecognizerResult {
  readonly recognitionId?: string
  readonly text: string
  readonly channel?: number
  readonly startMs?: number
  readonly endMs?: number
}

/** PROTOCOL 4.2, partial-result. */
export interface RecognizerPartial extends RecognizerResult {
  readonly stableLength?: number
}

/** PROTOCOL 4.2, milestone-result. */
export interface RecognizerMilestone extends RecognizerResult {
  readonly confidence?: number
  readonly words?: readonly Word[]
  readonly slots?: Slots
  readonly isIncomplete?: true
}

/** PROTOCOL 4.2, final-result. */
export interface RecognizerFinal extends RecognizerResult {
  readonly operationResult: string
  readonly confidence?: number
  /** The position up to which the audio was read. */
  readonly heardMs?: number
}

/** Something that happened beside the results (PROTOCOL 4.2, event). */
export interface RecognizerEvent {
  readonly name: string
  readonly recognitionId?: string
  readonly channel?: number
  readonly startMs?: number
  readonly endMs?: number
  readonly data?: unknown
}

export type RecognizerMessage =
  | ({ readonly message: 'recognize-response' } & RecognizerResponse)
  | ({ readonly message: 'stop-recognition-response' } & RecognizerResponse)
  | ({ readonly message: 'finalize-recognition-response' } & RecognizerResponse)
  | ({ readonly message: 'partial-result' } & RecognizerPartial)
  | ({ readonly message: 'milestone-result' } & RecognizerMilestone)
  | ({ readonly message: 'final-result' } & RecognizerFinal)
  | ({ readonly message: 'event' } & RecognizerEvent)

const response: MessageCodec<RecognizerResponse> = messageCodec<RecognizerResponse>({
  operationResult: required(text, 'operation-result'),
  recognitionId: lenient(text, 'recognition-id'),
  sessionId: lenient(sessionId, 'session-id'),
})

const recognitionId = lenient(text, 'recognition-id')
const placeFields = {
  channel: lenient(integerText, 'channel'),
  startMs: lenient(integerText, 'start-msec'),
  endMs: lenient(integerText, 'end-msec'),
}

const resultFields: Fields<RecognizerResult> = { recognitionId, text: required(text, 'text'), ...placeFields }

const partial: MessageCodec<RecognizerPartial> = messageCodec<RecognizerPartial>({
  ...resultFields,
  stableLength: lenient(integerText, 'stable-length'),
})

const confidence = lenient(confidenceText, 'confidence')

const word: MessageCodec<Word> = messageCodec<Word>({
  text: required(text, 'text'),
  startMs: required(integerText, 'start-msec'),
  endMs: required(integerText, 'end-msec'),
  confidence: lenient(posteriorText, 'confidence'),
})

/** The JSON of a value as a string, because every field of a result is one (PROTOCOL 4.2). */
const jsonText = <A>(value: Codec<A>): Codec<A> =>
  codec(value.name, value.is, {
    read: (input) => {
      const read = value.decode(parseJson(String(input)))
      return either.isRight(read) ? read.right : input
    },
    write: (content) => JSON.stringify(value.encode(content)),
  })

const milestone: MessageCodec<RecognizerMilestone> = messageCodec<RecognizerMilestone>({
  ...resultFields,
  confidence,
  words: lenient(jsonText(listOf(word)), 'words'),
  slots: lenient(jsonText(slotsCodec), 'slots'),
  isIncomplete: lenient(markText, 'incomplete'),
})

const final: MessageCodec<RecognizerFinal> = messageCodec<RecognizerFinal>({
  ...resultFields,
  operationResult: required(text, 'operation-result'),
  confidence,
  heardMs: lenient(integerText, 'heard-msec'),
})

const event: MessageCodec<RecognizerEvent> = messageCodec<RecognizerEvent>({
  recognitionId,
  name: required(text, 'name'),
  ...placeFields,
  data: lenient(anything, 'data'),
})

const codecs = {
  'recognize-response': response,
  'stop-recognition-response': response,
  'finalize-recognition-response': response,
  'partial-result': partial,
  'milestone-result': milestone,
  'final-result': final,
  event,
} as const

const isKnown = (name: unknown): name is keyof typeof codecs => typeof name === 'string' && Object.hasOwn(codecs, name)

/** Why a message of the service could not be read, and its name if that is known. */
export interface UnreadableRecognizerMessage {
  readonly error: SpeechError
  readonly message?: RecognizerMessage['message'] | undefined
}

/** Reads a text frame of the service. Never throws. */
export const readRecognizerMessage = (json: string): either.Either<UnreadableRecognizerMessage, RecognizerMessage> => {
  const object = parseJsonObject(json)
  if (either.isLeft(object)) return either.left({ error: object.left })
  const message = ownValue(object.right, 'message-name')
  if (!isKnown(message)) {
    return either.left({ error: new SpeechError('unknown-message', 'The message-name is unknown.') })
  }
  const fields = decodeWith(codecs[message] as MessageCodec<object>, object.right)
  return either.isLeft(fields)
    ? either.left({ error: fields.left, message })
    : either.right(Object.assign(fields.right, { message }) as RecognizerMessage)
}

export const writeRecognizerMessage = (message: RecognizerMessage): string => {
  const fields = (codecs[message.message] as MessageCodec<object>).encode(message)
  return JSON.stringify({ 'message-name': message.message, ...fields })
}
