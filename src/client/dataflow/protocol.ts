import { either } from 'fp-ts'
import { refusalError } from '../../errors/refusal.js'
import type { SpeechError } from '../../errors/speech-error.js'
import {
  contentType,
  requestNames,
  writeDataflowRequest,
  type DataflowRequest,
  type Dialect,
  type Settings,
  type StartRequest,
  type UpdateRequest,
  readDataflowResponse,
  type DataflowResponse,
} from '../../protocol/dataflow-messages.js'
import { isSuccess } from '../../protocol/operation-result.js'
import { readEventEnvelope, sessionEventOf } from '../../protocol/dataflow-events.js'
import type { DataflowMessage } from '../../transport/link.js'
import { unreadableStart, type ControlSignal, type DecodedMessage, type WireProtocol } from '../protocol.js'

export interface DataflowProtocolOptions {
  readonly start: Omit<StartRequest, 'token'>
  readonly dialect: Dialect
  /** The updates of earlier connections. */
  readonly update?: UpdateRequest | undefined
}

const noBytes = new Uint8Array(0)

/** The maximum number of stored requests, for services that never answer an Update. */
const maxPendingRequests = 64

/** The client's side of the dataflow stream (PROTOCOL 3.1). */
export class DataflowProtocol implements WireProtocol<DataflowMessage, DataflowMessage> {
  readonly #start: DataflowProtocolOptions['start']
  readonly #dialect: Dialect
  readonly #update: UpdateRequest | undefined
  /** Requests without a response. Some services send responses without names, in the order of the requests. */
  #pendingRequests: readonly string[] = []

  constructor({ start, dialect, update }: DataflowProtocolOptions) {
    this.#start = start
    this.#dialect = dialect
    this.#update = update
  }

  start(token: string): DataflowMessage {
    const start = this.#start
    return this.#write({ request: 'Start', ...start, ...changed(start, this.#update), token })
  }

  audio(bytes: Uint8Array): DataflowMessage {
    return { contentType: contentType.audio, content: '', binaryContent: bytes }
  }

  finalize(): DataflowMessage {
    return this.#write({ request: 'Finalize' })
  }

  stop(): DataflowMessage {
    return this.#write({ request: 'Stop' })
  }

  update(update: UpdateRequest): DataflowMessage {
    return this.#write({ request: 'Update', ...update })
  }

  read(message: DataflowMessage): DecodedMessage {
    return readMessage(message, (response) => this.#requestOf(response))
  }

  text({ content }: DataflowMessage): string {
    return content
  }

  #write(request: DataflowRequest): DataflowMessage {
    this.#pendingRequests = [...this.#pendingRequests, request.request].slice(-maxPendingRequests)
    const content = writeDataflowRequest(request, this.#dialect)
    return { contentType: contentType.request, content, binaryContent: noBytes }
  }

  #requestOf(response: DataflowResponse): string {
    const named = requestNames.find((name) => response.messageName?.toLowerCase() === `${name}Response`.toLowerCase())
    const request = named ?? this.#pendingRequests[0] ?? ''
    this.#pendingRequests = this.#pendingRequests.filter(
      (_one, index) => index !== this.#pendingRequests.indexOf(request),
    )
    return request
  }
}

/** Merges two updates; the later one wins for each key. */
export const mergeUpdates = (earlier: UpdateRequest | undefined, later: UpdateRequest): UpdateRequest => ({
  settings: mergeSettings(earlier?.settings, later.settings),
  callProperties: mergeSettings(earlier?.callProperties, later.callProperties),
})

const mergeSettings = (earlier: Settings | undefined, later: Settings | undefined): Settings | undefined =>
  earlier === undefined || later === undefined ? (later ?? earlier) : { ...earlier, ...later }

const changed = (start: UpdateRequest, update: UpdateRequest | undefined): UpdateRequest =>
  update === undefined ? {} : mergeUpdates(start, update)

const readMessage = (message: DataflowMessage, requestOf: (response: DataflowResponse) => string): DecodedMessage => {
  switch (message.contentType) {
    case contentType.response: {
      const response = readDataflowResponse(message.content)
      if (either.isRight(response)) return decodeResponse(response.right, requestOf(response.right))
      // During the start this can only be its answer, and no other follows.
      const { message: reason } = response.left
      return { ...unknown(reason, message), signal: unreadableStart(reason) }
    }
    case contentType.event: {
      const event = readEventEnvelope(message.content)
      return either.isLeft(event) ? unknown(event.left.message, message) : { event: sessionEventOf(event.right) }
    }
    case contentType.audio:
      if (message.binaryContent.length === 0) return unknown('An AUDIO message without bytes.', message)
      return { event: { type: 'audio', bytes: message.binaryContent } }
    default:
      return unknown(`A message of content type ${message.contentType}.`, message)
  }
}

const meanings: Readonly<Record<string, ControlSignal['type']>> = {
  Start: 'start-answer',
  Finalize: 'finalize-answer',
  Stop: 'stop-answer',
}

const decodeResponse = ({ operationResult }: DataflowResponse, request: string): DecodedMessage => {
  const success = isSuccess(operationResult)
  const type = meanings[request]
  const error: { readonly error?: SpeechError } = success ? {} : { error: refusalError(operationResult) }
  return {
    event: { type: 'response', request, success, operationResult },
    ...(type && { signal: { type, ...error } }),
  }
}

const unknown = (reason: string, { content, binaryContent }: DataflowMessage): DecodedMessage => ({
  event: { type: 'unknown', reason, raw: content === '' ? binaryContent.length : content },
})
