import { either } from 'fp-ts'
import { Observable, type SchedulerLike } from 'rxjs'
import { refusalError } from '../../errors/refusal.js'
import { isSpeechError, SpeechError } from '../../errors/speech-error.js'
import { schedule } from '../../kernel/timers.js'
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
import type { DataflowMessage, Link } from '../../transport/link.js'
import {
  unreadableStart,
  type ControlSignal,
  type DecodedMessage,
  type ServiceSession,
  type WireProtocol,
} from '../protocol.js'

export interface DataflowProtocolOptions {
  readonly start: Omit<StartRequest, 'token'>
  readonly dialect: Dialect
  /** The updates of earlier connections. */
  readonly update?: UpdateRequest | undefined
  /** Gets its id from the first response. @default {} */
  readonly session?: ServiceSession | undefined
}

const noBytes = new Uint8Array(0)

/** How long the refusal of a start waits for the status of the call. */
const statusWithinMs = 1_000

/** The maximum number of stored requests, for services that never answer an Update. */
const maxPendingRequests = 64

/** The client's side of the dataflow stream (PROTOCOL 3.1). */
export class DataflowProtocol implements WireProtocol<DataflowMessage, DataflowMessage> {
  readonly #start: DataflowProtocolOptions['start']
  readonly #dialect: Dialect
  readonly #update: UpdateRequest | undefined
  readonly #session: ServiceSession
  /** Requests without a response. Some services send responses without names, in the order of the requests. */
  #pendingRequests: readonly string[] = []
  #retryAfterMs: number | undefined

  constructor({ start, dialect, update, session = {} }: DataflowProtocolOptions) {
    this.#start = start
    this.#dialect = dialect
    this.#update = update
    this.#session = session
  }

  start(token: string): DataflowMessage {
    const start = this.#start
    const { id: sessionId } = this.#session
    return this.#write({ request: 'Start', ...start, ...changed(start, this.#update), token, sessionId })
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
    return readMessage(message, (response) => this.#requestOf(response), this.#retryAfterMs)
  }

  text({ content }: DataflowMessage): string {
    return content
  }

  /**
   * The link, which delivers the refusal of a start that may succeed later with the status that follows: only that says
   * how long to wait.
   */
  awaitStatus(link: DataflowLink, scheduler: SchedulerLike): DataflowLink {
    return {
      incoming$: this.#withStatus(link.incoming$, scheduler),
      drain$: link.drain$,
      leaving$: link.leaving$,
      get bufferedBytes() {
        return link.bufferedBytes
      },
      get isCongested() {
        return link.isCongested
      },
      send: (message) => link.send(message),
      pause: () => link.pause(),
      resume: () => link.resume(),
      finish: () => link.finish(),
      close: (reason) => link.close(reason),
    }
  }

  #withStatus(incoming$: Observable<DataflowMessage>, scheduler: SchedulerLike): Observable<DataflowMessage> {
    return new Observable((subscriber) => {
      let isFirst = true
      let refusal: DataflowMessage | undefined
      const deliver = (): void => {
        const held = refusal
        refusal = undefined
        if (held !== undefined) subscriber.next(held)
      }
      subscriber.add(
        incoming$.subscribe({
          next: (message) => {
            deliver()
            if (!isFirst || !isTemporary(message)) subscriber.next(message)
            else {
              refusal = message
              subscriber.add(schedule(scheduler, statusWithinMs, deliver))
            }
            isFirst = false
          },
          error: (cause: unknown) => {
            if (isSpeechError(cause)) this.#retryAfterMs = cause.retryAfterMs
            deliver()
            subscriber.error(cause)
          },
          complete: () => {
            deliver()
            subscriber.complete()
          },
        }),
      )
    })
  }

  #write(request: DataflowRequest): DataflowMessage {
    this.#pendingRequests = [...this.#pendingRequests, request.request].slice(-maxPendingRequests)
    const content = writeDataflowRequest(request, this.#dialect)
    return { contentType: contentType.request, content, binaryContent: noBytes }
  }

  #requestOf(response: DataflowResponse): string {
    this.#session.id ??= response.sessionId
    const named = requestNames.find((name) => response.messageName?.toLowerCase() === `${name}Response`.toLowerCase())
    const request = named ?? this.#pendingRequests[0] ?? ''
    this.#pendingRequests = this.#pendingRequests.filter(
      (_one, index) => index !== this.#pendingRequests.indexOf(request),
    )
    return request
  }
}

type DataflowLink = Link<DataflowMessage, DataflowMessage>

/** Merges two updates; the later one wins for each key. */
export const mergeUpdates = (earlier: UpdateRequest | undefined, later: UpdateRequest): UpdateRequest => ({
  settings: mergeSettings(earlier?.settings, later.settings),
  callProperties: mergeSettings(earlier?.callProperties, later.callProperties),
})

const mergeSettings = (earlier: Settings | undefined, later: Settings | undefined): Settings | undefined =>
  earlier === undefined || later === undefined ? (later ?? earlier) : { ...earlier, ...later }

const changed = (start: UpdateRequest, update: UpdateRequest | undefined): UpdateRequest =>
  update === undefined ? {} : mergeUpdates(start, update)

/** Whether a message is the refusal of a request that may succeed later. */
const isTemporary = ({ contentType: type, content }: DataflowMessage): boolean => {
  if (type !== contentType.response) return false
  const response = readDataflowResponse(content)
  if (either.isLeft(response)) return false
  const { operationResult } = response.right
  return !isSuccess(operationResult) && refusalError(operationResult).retryable
}

const readMessage = (
  message: DataflowMessage,
  requestOf: (response: DataflowResponse) => string,
  retryAfterMs: number | undefined,
): DecodedMessage => {
  switch (message.contentType) {
    case contentType.response: {
      const response = readDataflowResponse(message.content)
      if (either.isRight(response)) return decodeResponse(response.right, requestOf(response.right), retryAfterMs)
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

const decodeResponse = (
  { operationResult }: DataflowResponse,
  request: string,
  retryAfterMs: number | undefined,
): DecodedMessage => {
  const success = isSuccess(operationResult)
  const type = meanings[request]
  const error: { readonly error?: SpeechError } = success ? {} : { error: refusalOf(operationResult, retryAfterMs) }
  return {
    event: { type: 'response', request, success, operationResult },
    ...(type && { signal: { type, ...error } }),
  }
}

const refusalOf = (operationResult: string, retryAfterMs: number | undefined): SpeechError => {
  const error = refusalError(operationResult)
  return retryAfterMs === undefined ? error : new SpeechError(error.code, error.message, { retryAfterMs })
}

const unknown = (reason: string, { content, binaryContent }: DataflowMessage): DecodedMessage => ({
  event: { type: 'unknown', reason, raw: content === '' ? binaryContent.length : content },
})
