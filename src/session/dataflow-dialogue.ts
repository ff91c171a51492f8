import { either } from 'fp-ts'
import { parseRefusal, type SpeechError } from '../errors/speech-error.js'
import { contentType } from '../protocol/content-type.js'
import {
  requestNames,
  writeDataflowRequest,
  type DataflowRequest,
  type Dialect,
  type StartRequest,
} from '../protocol/dataflow-requests.js'
import { readDataflowResponse, type DataflowResponse } from '../protocol/dataflow-responses.js'
import { readEventEnvelope } from '../protocol/event-envelope.js'
import { isSuccess } from '../protocol/operation-result.js'
import { sessionEventOf } from '../protocol/recognition-events.js'
import type { DataflowMessage } from '../transport/link.js'
import type { Dialogue, Heard, Meaning } from './dialogue.js'

export interface DataflowDialogueOptions {
  readonly start: Omit<StartRequest, 'token'>
  readonly dialect: Dialect
  /** How the end of the audio is said: by half-closing the stream, which any service understands, or by `Finalize`. */
  readonly finalizeBy: 'half-close' | 'request'
}

const noBytes = new Uint8Array(0)

/** A request as a message of the stream. */
export const dataflowRequestMessage = (request: DataflowRequest, dialect: Dialect): DataflowMessage => ({
  contentType: contentType.request,
  content: writeDataflowRequest(request, dialect),
  binaryContent: noBytes,
})

/** What a client says and hears on the dataflow stream (service.md 4.1). */
export const dataflowDialogue = ({
  start,
  dialect,
  finalizeBy,
}: DataflowDialogueOptions): Dialogue<DataflowMessage, DataflowMessage> => {
  // A plain service does not name its responses; then they come in the order of the requests.
  let asked: readonly string[] = []
  const say = (request: DataflowRequest): DataflowMessage => {
    asked = [...asked, request.request]
    return dataflowRequestMessage(request, dialect)
  }
  const answered = (response: DataflowResponse): string => {
    const named = requestNames.find((name) => response.messageName?.toLowerCase() === `${name}Response`.toLowerCase())
    const request = named ?? asked[0] ?? 'Start'
    asked = asked.filter((_one, index) => index !== asked.indexOf(request))
    return request
  }
  return {
    start: (token) => say({ request: 'Start', ...start, token }),
    audio: (bytes) => ({ contentType: contentType.audio, content: '', binaryContent: bytes }),
    finalize: () => (finalizeBy === 'request' ? say({ request: 'Finalize' }) : undefined),
    stop: () => say({ request: 'Stop' }),
    read: (message) => readMessage(message, answered),
    endsWith: 'end-of-stream',
  }
}

const readMessage = (message: DataflowMessage, answered: (response: DataflowResponse) => string): Heard => {
  switch (message.contentType) {
    case contentType.response: {
      const response = readDataflowResponse(message.content)
      return either.isLeft(response)
        ? unknown(response.left.message, message)
        : heardResponse(response.right, answered(response.right))
    }
    case contentType.event: {
      const event = readEventEnvelope(message.content)
      return either.isLeft(event)
        ? unknown(event.left.message, message)
        : { event: sessionEventOf(event.right), meaning: none }
    }
    case contentType.audio:
      if (message.binaryContent.length === 0) return unknown('An AUDIO message without bytes.', message)
      return { event: { type: 'audio', bytes: message.binaryContent }, meaning: none }
    default:
      return unknown(`A message of content type ${message.contentType}.`, message)
  }
}

const none: Meaning = { type: 'none' }

const meanings: Readonly<Record<string, Exclude<Meaning['type'], 'none' | 'last-word'>>> = {
  Start: 'start-answer',
  Finalize: 'finalize-answer',
  Stop: 'stop-answer',
}

const heardResponse = ({ operationResult }: DataflowResponse, request: string): Heard => {
  const success = isSuccess(operationResult)
  const type = meanings[request]
  const error: { readonly error?: SpeechError } = success ? {} : { error: parseRefusal(operationResult) }
  return {
    event: { type: 'response', request, success, operationResult },
    meaning: type === undefined ? none : { type, ...error },
  }
}

const unknown = (reason: string, { content, binaryContent }: DataflowMessage): Heard => ({
  event: { type: 'unknown', reason, raw: content === '' ? binaryContent.length : content },
  meaning: none,
})
