/**
 * A provider for the AI SDK: `transcribe` and `experimental_streamTranscribe` of `ai` 7, and `experimental_transcribe`
 * of `ai` 6, with one's own service. It needs no package of the AI SDK.
 *
 * @module rxspeech/ai-sdk
 */
import { createRxspeechOn, type RxspeechOptions, type RxspeechProvider } from './ai-sdk/provider.js'
import type { SpecificationVersion } from './ai-sdk/transcription-model.js'
import { recognize } from './client/recognizer/recognize.js'

export type { RxspeechCallOptions, RxspeechOptions, RxspeechProvider } from './ai-sdk/provider.js'
export type {
  SpecificationVersion,
  TimedText,
  TranscriptionCall,
  TranscriptionCallOptions,
  TranscriptionModel,
  TranscriptionResult,
  TranscriptionStreamOptions,
  TranscriptionStreamPart,
  TranscriptionSummary,
  TranscriptionWarning,
} from './ai-sdk/transcription-model.js'

/**
 * The transcription models of a service. Each call is one session of `recognize` with these options, which continues
 * after a lost connection. Its error is the `SpeechError` of the session; the AI SDK tries a call again if that is
 * `retryable`. The options are checked by each call, which rejects with `invalid-options`.
 *
 * @example
 * const rxspeech = createRxspeech({ url, token })
 * const model = rxspeech.transcription('English') // transcribe({ model, audio: readFileSync('call.wav') })
 */
export const createRxspeech: <Version extends SpecificationVersion = 'v4'>(
  options: RxspeechOptions<Version>,
) => RxspeechProvider<Version> = /* @__PURE__ */ createRxspeechOn(recognize)
