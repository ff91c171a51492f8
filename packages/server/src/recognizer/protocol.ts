import { either } from 'fp-ts'
import type { SoundWarning } from 'rxspeech/internal/audio/sound-check/sound-warning'
import { refusalText } from 'rxspeech/internal/errors/refusal'
import type { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { audioWarning, eventName } from 'rxspeech/internal/protocol/event-name'
import { recognizerSuccess } from 'rxspeech/internal/protocol/operation-result'
import {
  readRecognizerRequest,
  type RecognizeRequest,
  type RecognizerMessage,
  type RecognizerRequestName,
} from 'rxspeech/internal/protocol/recognizer-messages'
import { partialsThinned, partialsThinnedData, type ChannelEvent } from '../recognition/channel-event.js'
import { audioWarningData } from '../sessions/audio-warning.js'
import type { End } from '../sessions/conversation.js'

/** A text message of the client, decoded. */
export type ClientRequest =
  | { readonly type: 'recognize'; readonly request: RecognizeRequest }
  | { readonly type: 'stop-recognition' | 'finalize-recognition' }
  /** A known request with an invalid field. */
  | { readonly type: 'invalid-request'; readonly request: RecognizerRequestName; readonly error: SpeechError }

/** Decodes a text message. It is unreadable if it is not JSON, or not a known request. Never throws. */
export const decodeMessage = (text: string): ClientRequest | End<'unreadable'> => {
  const read = readRecognizerRequest(text)
  if (either.isLeft(read)) {
    const { request, error } = read.left
    return request === undefined
      ? { type: 'end', cause: 'unreadable', error }
      : { type: 'invalid-request', request, error }
  }
  return read.right.request === 'recognize' ? { type: 'recognize', request: read.right } : { type: read.right.request }
}

/** The response to a request: success, with the id of the session if it is given, or the error. */
export const responseMessage = (
  request: RecognizerRequestName,
  recognitionId: string,
  error: SpeechError | undefined,
  sessionId?: string,
): RecognizerMessage => ({
  message: `${request}-response`,
  operationResult: error === undefined ? recognizerSuccess : refusalText(error),
  recognitionId,
  ...(request === 'recognize' && error === undefined && { sessionId }),
})

/** The result message of an event, if it has one. */
export const resultMessage = (event: ChannelEvent, recognitionId: string): RecognizerMessage | undefined => {
  switch (event.type) {
    case 'partial': {
      const { type: _type, ...result } = event
      return { message: 'partial-result', recognitionId, channel: 0, ...result }
    }
    case 'milestone': {
      const { type: _type, ...result } = event
      return { message: 'milestone-result', recognitionId, channel: 0, ...result }
    }
    case 'final': {
      const { type: _type, cause: _cause, confidence = 0, ...result } = event
      const operationResult = recognizerSuccess
      return { message: 'final-result', recognitionId, channel: 0, operationResult, confidence, ...result }
    }
    case 'no-match':
      return {
        message: 'event',
        name: eventName.noMatch,
        recognitionId,
        channel: 0,
        startMs: event.startMs,
        endMs: event.endMs,
      }
    case 'speech-started':
    case 'speech-ended': {
      const { type, startMs, ...place } = event
      const name = type === 'speech-started' ? eventName.speechStarted : eventName.speechEnded
      return { message: 'event', name, recognitionId, channel: 0, startMs, ...place }
    }
    case 'partials-thinned':
      return {
        message: 'event',
        name: partialsThinned,
        recognitionId,
        channel: 0,
        startMs: event.startMs,
        data: partialsThinnedData(event),
      }
    default:
      return undefined
  }
}

/** The message that reports a fault of the audio. */
export const audioWarningMessage = (warning: SoundWarning, recognitionId: string): RecognizerMessage => ({
  message: 'event',
  name: audioWarning,
  recognitionId,
  channel: 0,
  startMs: warning.atMs,
  data: audioWarningData(warning),
})
