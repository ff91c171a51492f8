import { either } from 'fp-ts'
import { contentType, readDataflowRequest, writeDataflowResponse } from '../../protocol/dataflow-messages.js'
import { writeEventEnvelope, eventName, recognitionData } from '../../protocol/dataflow-events.js'
import {
  readRecognizerRequest,
  writeRecognizerMessage,
  type RecognizerResult,
} from '../../protocol/recognizer-messages.js'
import type { DataflowMessage, SocketMessage } from '../../transport/link.js'
import type { Asked, Wording } from './proving-conversation.js'
import type { ProvingResult } from './proving-recognition.js'

const noBytes = new Uint8Array(0)

const responseNames = {
  start: 'recognize-response',
  finalize: 'finalize-recognition-response',
  stop: 'stop-recognition-response',
} as const

/** The recognition socket's words (service.md 4.2). */
export const recognizerWording = (times: boolean): Wording<SocketMessage> => ({
  read: (message) => {
    if (typeof message !== 'string') return either.right({ type: 'audio', bytes: message })
    const read = readRecognizerRequest(message)
    if (either.isLeft(read)) return either.left(read.left.error)
    if (read.right.request === 'finalize-recognition') return either.right({ type: 'finalize' })
    if (read.right.request === 'stop-recognition') return either.right({ type: 'stop' })
    return either.right({ type: 'start', sampleRateHz: read.right.sampleRateHz, channels: 1 })
  },
  answer: (request, operationResult) => writeRecognizerMessage({ message: responseNames[request], operationResult }),
  result: ({ type, text, startMs, endMs }) => {
    const result: RecognizerResult = { text, ...(times ? { startMs, endMs } : {}) }
    return writeRecognizerMessage(
      type === 'final'
        ? { message: 'final-result', operationResult: 'Success', confidence: 1, ...result }
        : { message: `${type}-result`, ...result },
    )
  },
  malformed: '{"message-name": "partial-result", "text": ',
  halfCloses: false,
})

/** The dataflow stream's words (service.md 4.1). */
export const dataflowWording = (times: boolean): Wording<DataflowMessage> => ({
  read: ({ contentType: type, content, binaryContent }) => {
    if (type === contentType.audio) return either.right({ type: 'audio', bytes: binaryContent })
    const read = readDataflowRequest(content)
    if (either.isLeft(read)) return either.left(read.left.error)
    return either.right(askedOf(read.right))
  },
  answer: (request, operationResult) => ({
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
  halfCloses: true,
})

const askedOf = (
  request: Extract<ReturnType<typeof readDataflowRequest>, { readonly _tag: 'Right' }>['right'],
): Asked => {
  if (request.request === 'Finalize') return { type: 'finalize' }
  if (request.request === 'Stop') return { type: 'stop' }
  if (request.request === 'Update') return { type: 'other' }
  const { sampleRateHz, channels } = request.audio
  return { type: 'start', token: request.token, sampleRateHz, channels }
}

const eventOf = ({ type, text, startMs, endMs, words }: ProvingResult, times: boolean): string =>
  writeEventEnvelope({
    name: eventName[type],
    channel: 0,
    ...(times ? { startMs, endMs } : {}),
    data: recognitionData.encode({
      text,
      ...(type === 'partial' ? {} : { confidence: 1 }),
      ...(times && type === 'milestone' ? { words } : {}),
    }),
  })
