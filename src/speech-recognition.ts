/**
 * The class `SpeechRecognition` of the Web Speech API over one's own service: a page that was written for Chrome runs
 * in every browser, and its audio goes to no other service.
 *
 * @module rxspeech/speech-recognition
 */
import { recognize } from './client/recognizer/recognize.js'
import { microphone } from './microphone/microphone.js'
import {
  recognitionClassOn,
  type RecognitionClass,
  type SpeechRecognitionOptions,
} from './speech-recognition/speech-recognition.js'

export type {
  RecognitionClass,
  RecognitionObject,
  SpeechRecognitionOptions,
} from './speech-recognition/speech-recognition.js'
export type {
  RecognitionErrorCode,
  RecognitionErrorEvent,
  RecognitionResultEvent,
} from './speech-recognition/recognition-events.js'

/**
 * The class `SpeechRecognition` over one's own service. Each `start` is one session with its own microphone; a
 * milestone is a definitive result, and a partial an interim one. `nomatch` never comes, and a result has one
 * alternative, whose confidence is 1 if the service sends none.
 *
 * The events come in the order of the API: `start` and `audiostart` when the service listens, `soundstart` and
 * `speechstart` with the first words, each `result`, `speechend`, `soundend` and `audioend`, perhaps `error`, and
 * `end`.
 *
 * @example
 * const SpeechRecognition = createSpeechRecognition({ url, token, models: { 'en-US': 'dictation' } })
 * Object.assign(globalThis, { SpeechRecognition })
 */
export const createSpeechRecognition = (options: SpeechRecognitionOptions): RecognitionClass =>
  recognitionClassOn({ recognize, microphone }, options)
