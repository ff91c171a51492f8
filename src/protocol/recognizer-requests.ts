import { either, function as f } from 'fp-ts'
import { maxSampleRateHz, minSampleRateHz } from '../audio/format.js'
import { SpeechError } from '../errors/speech-error.js'
import { integer, nonEmptyText, oneOf, text } from './field-codecs.js'
import { ownValue, parseJsonObject, type JsonObject } from './json-object.js'
import { decodeWith, messageCodec, optional, required, type MessageCodec } from './message-codec.js'
import { shownName } from './twin-fields.js'

export type AudioSplitter = 'realtime-vad' | 'audio-segmenter'

/** service.md 4.2: starts a recognition. What is left out is the service's default. */
export interface RecognizeRequest {
  /** 16-bit signed samples, one channel. */
  readonly audioFormat: 'pcm'
  readonly modelName: string
  readonly modelTenant?: string
  readonly modelVersion?: string
  readonly sampleRateHz: number
  readonly audioSplitter?: AudioSplitter
  /** 1 to 10, where 10 is the easiest to trigger. */
  readonly vadSensitivity?: number
  readonly vadPreSpeechBufferMs?: number
  readonly vadPostSpeechBufferMs?: number
  /** -1: no limit. */
  readonly vadMaxSpeechDurationMs?: number
  readonly vadSilenceTriggerMs?: number
  /** 0: silence never ends the recognition. */
  readonly vadGracefulSilenceThresholdMs?: number
}

export const recognizeRequest: MessageCodec<RecognizeRequest> = messageCodec<RecognizeRequest>('an object', {
  audioFormat: required(oneOf('pcm'), 'audio-format'),
  modelName: required(nonEmptyText(), 'model-name'),
  modelTenant: optional(text, 'model-tenant'),
  modelVersion: optional(text, 'model-version'),
  sampleRateHz: required(
    integer(`a whole number of Hz from ${minSampleRateHz} to ${maxSampleRateHz}`, minSampleRateHz, maxSampleRateHz),
    'sample-rate',
  ),
  audioSplitter: optional(oneOf('realtime-vad', 'audio-segmenter'), 'audio-splitter'),
  vadSensitivity: optional(integer(), 'vad-sensitivity'),
  vadPreSpeechBufferMs: optional(integer(), 'vad-pre-speech-buffer-msec'),
  vadPostSpeechBufferMs: optional(integer(), 'vad-post-speech-buffer-msec'),
  vadMaxSpeechDurationMs: optional(integer(), 'vad-max-speech-duration-msec'),
  vadSilenceTriggerMs: optional(integer(), 'vad-silence-trigger-msec'),
  vadGracefulSilenceThresholdMs: optional(integer(), 'vad-graceful-silence-threshold-msec'),
})

export type RecognizerRequest =
  | ({ readonly request: 'recognize' } & RecognizeRequest)
  | { readonly request: 'stop-recognition' }
  | { readonly request: 'finalize-recognition' }

export type RecognizerRequestName = RecognizerRequest['request']

/** A request of a known name with a field that does not fit carries that name, so that the answer can. */
export interface UnreadableRecognizerRequest {
  readonly request?: RecognizerRequestName
  readonly error: SpeechError
}

type Read = either.Either<UnreadableRecognizerRequest, RecognizerRequest>

const readObject = (json: JsonObject): Read => {
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
export const readRecognizerRequest = (json: string): Read =>
  f.pipe(
    parseJsonObject(json),
    either.mapLeft((error): UnreadableRecognizerRequest => ({ error })),
    either.chain(readObject),
  )

export const writeRecognizerRequest = (message: RecognizerRequest): string =>
  JSON.stringify({
    'message-name': message.request,
    ...(message.request === 'recognize' ? recognizeRequest.encode(message) : {}),
  })
