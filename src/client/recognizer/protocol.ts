import { either } from 'fp-ts'
import { decodeSamples } from '../../audio/codec.js'
import type { Encoding } from '../../audio/format.js'
import { bytesOf } from '../../audio/pcm.js'
import { refusalError } from '../../errors/refusal.js'
import { SpeechError } from '../../errors/speech-error.js'
import { isSuccess } from '../../protocol/operation-result.js'
import {
  writeRecognizerRequest,
  type RecognizeRequest,
  readRecognizerMessage,
  type RecognizerFinal,
  type RecognizerMessage,
  type RecognizerMilestone,
  type RecognizerPartial,
} from '../../protocol/recognizer-messages.js'
import type { FinalEvent, PartialEvent } from '../../protocol/session-event.js'
import { stablePart } from '../../protocol/stable-length.js'
import type { SocketMessage } from '../../transport/link.js'
import { unreadableStart, type WireProtocol, type DecodedMessage, type ServiceSession } from '../protocol.js'

/** The client's side of the recognition socket (PROTOCOL 4.2). */
export class RecognizerProtocol implements WireProtocol<SocketMessage, SocketMessage> {
  readonly #request: RecognizeRequest
  readonly #encoding: Encoding
  readonly #session: ServiceSession

  /**
   * @param encoding of the source; the socket carries only PCM (PROTOCOL 4.2)
   * @param session gets its id from the first response
   */
  constructor(request: RecognizeRequest, encoding: Encoding, session: ServiceSession = {}) {
    this.#request = request
    this.#encoding = encoding
    this.#session = session
  }

  start(): SocketMessage {
    return writeRecognizerRequest({ request: 'recognize', ...this.#request, sessionId: this.#session.id })
  }

  audio(bytes: Uint8Array): SocketMessage {
    const encoding = this.#encoding
    return encoding === 'pcm' ? bytes : bytesOf(decodeSamples(bytes, encoding))
  }

  finalize(): SocketMessage {
    return writeRecognizerRequest({ request: 'finalize-recognition' })
  }

  stop(): SocketMessage {
    return writeRecognizerRequest({ request: 'stop-recognition' })
  }

  read(message: SocketMessage): DecodedMessage {
    return readMessage(message, this.#session)
  }

  text(message: SocketMessage): string {
    return typeof message === 'string' ? message : ''
  }
}

/** Frames of two bytes would cost the client the most for each byte. */
const emptyMessage = (raw: string | number): DecodedMessage => ({
  event: { type: 'unknown', reason: 'An empty message.', raw },
  violation: new SpeechError('protocol-violation', 'The service sent an empty message, which the protocol has not.'),
})

const readMessage = (message: SocketMessage, session: ServiceSession): DecodedMessage => {
  if (message.length === 0) return emptyMessage(typeof message === 'string' ? message : 0)
  if (typeof message !== 'string') {
    return { event: { type: 'unknown', reason: 'A binary message.', raw: message.length } }
  }
  const read = readRecognizerMessage(message)
  if (either.isRight(read)) return decodeMessage(read.right, session)
  const { error, message: name } = read.left
  return {
    event: { type: 'unknown', reason: error.message, raw: message },
    ...(name === 'recognize-response' && { signal: unreadableStart(error.message) }),
  }
}

const responses = {
  'recognize-response': { request: 'recognize', type: 'start-answer' },
  'finalize-recognition-response': { request: 'finalize-recognition', type: 'finalize-answer' },
  'stop-recognition-response': { request: 'stop-recognition', type: 'stop-answer' },
} as const

const decodeMessage = (message: RecognizerMessage, session: ServiceSession): DecodedMessage => {
  switch (message.message) {
    case 'partial-result':
      return { event: partialOf(message) }
    case 'milestone-result':
      return { event: resultOf('milestone', message) }
    case 'final-result':
      return decodeFinal(message)
    case 'event': {
      const { name, channel = -1, startMs = -1, endMs = -1, data = null } = message
      return { event: { type: 'event', name, channel, startMs, endMs, tags: [], data } }
    }
    default: {
      const { request, type } = responses[message.message]
      const { operationResult, recognitionId } = message
      session.id ??= message.sessionId
      const success = isSuccess(operationResult)
      return {
        event: {
          type: 'response',
          request,
          success,
          operationResult,
          ...(recognitionId === undefined ? {} : { recognitionId }),
        },
        signal: success ? { type } : { type, error: refusalError(operationResult) },
      }
    }
  }
}

const partialOf = (message: RecognizerPartial): PartialEvent => {
  if (message.stableLength === undefined) return resultOf('partial', message)
  const { stableLength, ...rest } = message
  return { ...resultOf('partial', rest), ...stablePart(message.text, stableLength) }
}

const decodeFinal = (message: RecognizerFinal): DecodedMessage => {
  const { operationResult } = message
  const success = isSuccess(operationResult)
  const event: FinalEvent = resultOf('final', message)
  return {
    event: success ? event : { ...event, error: operationResult },
    signal: success ? { type: 'session-ended' } : { type: 'session-ended', error: refusalError(operationResult) },
  }
}

/** What a message of each kind may have; a codec reads only the fields of its kind. */
type ResultFields = Omit<RecognizerMilestone & RecognizerFinal, 'operationResult'>

/** Without spreads, because every result comes here. A message has only the fields that it was sent with. */
const resultOf = <Type extends 'partial' | 'milestone' | 'final'>(
  type: Type,
  message: ResultFields,
): ResultFields & { readonly type: Type } => {
  const event: Record<string, unknown> = { type }
  for (const name in message) {
    if (name !== 'message' && name !== 'operationResult') event[name] = message[name as keyof ResultFields]
  }
  return event as unknown as ResultFields & { readonly type: Type }
}
