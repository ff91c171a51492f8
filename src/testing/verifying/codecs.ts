import { either } from 'fp-ts'
import { contentType, readDataflowRequest, writeDataflowResponse } from '../../protocol/dataflow-messages.js'
import { writeEventEnvelope, recognitionData } from '../../protocol/dataflow-events.js'
import { eventName } from '../../protocol/event-name.js'
import {
  readRecognizerRequest,
  writeRecognizerMessage,
  type RecognizerResult,
} from '../../protocol/recognizer-messages.js'
import type { DataflowMessage, SocketMessage } from '../../transport/link.js'
import type { ClientRequest, Codec } from './session.js'
import type { VerifyingResult } from './recognition.js'

const noBytes = new Uint8Array(0)

const responseNames = {
  start: 'recognize-response',
  finalize: 'finalize-recognition-response',
  stop: 'stop-recognition-response',
} as const

/** The messages of the WebSocket (PROTOCOL 4.2). */
export const recognizerCodec = (times: boolean): Codec<SocketMessage> => ({
  read: (message) => {
    if (typeof message !== 'string') return either.right({ type: 'audio', bytes: message })
    const read = readRecognizerRequest(message)
    if (either.isLeft(read)) return either.left(read.left.error)
    if (read.right.request === 'finalize-recognition') return either.right({ type: 'finalize' })
    if (read.right.request === 'stop-recognition') return either.right({ type: 'stop' })
    return either.right({ type: 'start', sampleRateHz: read.right.sampleRateHz, channels: 1 })
  },
  response: (request, operationResult) => writeRecognizerMessage({ message: responseNames[request], operationResult }),
  result: ({ type, text, startMs, endMs }) => {
    const result: RecognizerResult = times ? { text, startMs, endMs } : { text }
    return writeRecognizerMessage(
      type === 'final'
        ? { message: 'final-result', operationResult: 'Success', confidence: 1, ...result }
        : { message: `${type}-result`, ...result },
    )
  },
  malformed: '{"message-name": "partial-result", "text": ',
  hasHalfClose: false,
})

/** The messages of the gRPC stream (PROTOCOL 3.1). */
export const dataflowCodec = (times: boolean): Codec<DataflowMessage> => ({
  read: ({ contentType: type, content, binaryContent }) => {
    if (type === contentType.audio) return either.right({ type: 'audio', bytes: binaryContent })
    const read = readDataflowRequest(content)
    if (either.isLeft(read)) return either.left(read.left.error)
    return either.right(requestOf(read.right))
  },
  response: (request, operationResult) => ({
    contentType: contentType.response,
    content: writeDataflowResponse(
      operationResult,
      request === 'start' ? 'Start' : request === 'stop' ? 'Stop' : 'Finalize',
    ),
    binaryContent: noBytes,
  }),
  result: (result) => ({
    contentType: contentType.event,
    content: eventOf(result, times),
    binaryContent: noBytes,
  }),
  malformed: { contentType: contentType.event, content: '{"Name": "SR Partial", ', binaryContent: noBytes },
  hasHalfClose: true,
})

const requestOf = (
  request: Extract<ReturnType<typeof readDataflowRequest>, { readonly _tag: 'Right' }>['right'],
): ClientRequest => {
  if (request.request === 'Finalize') return { type: 'finalize' }
  if (request.request === 'Stop') return { type: 'stop' }
  if (request.request === 'Update') return { type: 'other' }
  const { sampleRateHz, channels } = request.audio
  return { type: 'start', token: request.token, sampleRateHz, channels }
}

const eventOf = ({ type, text, startMs, endMs, words }: VerifyingResult, times: boolean): string =>
  writeEventEnvelope({
    name: eventName[type],
    channel: 0,
    ...(times ? { startMs, endMs } : undefined),
    data: recognitionData.encode({
      text,
      ...(type === 'partial' ? undefined : { confidence: 1 }),
      ...(times && type === 'milestone' ? { words } : undefined),
    }),
  })
