import { either } from 'fp-ts'
import { SpeechError } from '../errors/speech-error.js'
import { confidenceText, integerText, text } from './field-codecs.js'
import { ownValue, parseJsonObject } from './json-object.js'
import { decodeWith, hint, messageCodec, required, type Fields, type MessageCodec } from './message-codec.js'

/** service.md 4.2: the answer to a request of the client. */
export interface RecognizerResponse {
  readonly operationResult: string
  readonly recognitionId?: string
}

/** service.md 4.2, with the extra fields of decisions.md; a plain service gives none of them. */
export interface RecognizerResult {
  readonly recognitionId?: string
  readonly text: string
  readonly channel?: number
  readonly startMs?: number
  readonly endMs?: number
}

export interface RecognizerFinal extends RecognizerResult {
  readonly operationResult: string
  readonly confidence?: number
  /** How far the audio was read. */
  readonly heardMs?: number
}

export type RecognizerMessage =
  | ({ readonly message: 'recognize-response' } & RecognizerResponse)
  | ({ readonly message: 'stop-recognition-response' } & RecognizerResponse)
  | ({ readonly message: 'finalize-recognition-response' } & RecognizerResponse)
  | ({ readonly message: 'partial-result' } & RecognizerResult)
  | ({ readonly message: 'milestone-result' } & RecognizerResult)
  | ({ readonly message: 'final-result' } & RecognizerFinal)

const response: MessageCodec<RecognizerResponse> = messageCodec<RecognizerResponse>('an object', {
  operationResult: required(text, 'operation-result'),
  recognitionId: hint(text, 'recognition-id'),
})

const resultFields: Fields<RecognizerResult> = {
  recognitionId: hint(text, 'recognition-id'),
  text: required(text, 'text'),
  channel: hint(integerText, 'channel'),
  startMs: hint(integerText, 'start-msec'),
  endMs: hint(integerText, 'end-msec'),
}

const result: MessageCodec<RecognizerResult> = messageCodec<RecognizerResult>('an object', resultFields)

const final: MessageCodec<RecognizerFinal> = messageCodec<RecognizerFinal>('an object', {
  ...resultFields,
  operationResult: required(text, 'operation-result'),
  confidence: hint(confidenceText, 'confidence'),
  heardMs: hint(integerText, 'heard-msec'),
})

const codecs = {
  'recognize-response': response,
  'stop-recognition-response': response,
  'finalize-recognition-response': response,
  'partial-result': result,
  'milestone-result': result,
  'final-result': final,
} as const

const isKnown = (name: unknown): name is keyof typeof codecs => typeof name === 'string' && Object.hasOwn(codecs, name)

/** Why a message could not be read, and which one it was, where it is a known one. */
export interface UnreadableRecognizerMessage {
  readonly error: SpeechError
  readonly message?: RecognizerMessage['message']
}

/** Reads a text frame of the service. Never throws. */
export const readRecognizerMessage = (json: string): either.Either<UnreadableRecognizerMessage, RecognizerMessage> => {
  const object = parseJsonObject(json)
  if (either.isLeft(object)) return either.left({ error: object.left })
  const message = ownValue(object.right, 'message-name')
  if (!isKnown(message)) {
    return either.left({ error: new SpeechError('unknown-message', 'message-name is none that this client knows.') })
  }
  const fields = decodeWith(codecs[message] as MessageCodec<object>, object.right)
  return either.isLeft(fields)
    ? either.left({ error: fields.left, message })
    : either.right({ message, ...fields.right } as RecognizerMessage)
}

export const writeRecognizerMessage = (message: RecognizerMessage): string => {
  const fields = (codecs[message.message] as MessageCodec<object>).encode(message)
  return JSON.stringify({ 'message-name': message.message, ...fields })
}
