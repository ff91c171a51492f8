import type { SpeechError } from '../../errors/speech-error.js'
import { either } from 'fp-ts'
import { integer, oneOf, text } from '../../protocol/field-codecs.js'
import { decodeWith, messageCodec, optional, type Fields } from '../../protocol/message-codec.js'
import type { Settings } from '../../protocol/settings.js'
import { twinField } from '../../protocol/twin-fields.js'
import type { ModelName } from './node.js'
import {
  defaultSegmenterParameters,
  validateSegmenterParameters,
  type SegmenterParameters,
} from '../recognition/segmenter-parameters.js'

/** The `Settings` that the `transcribe` node reads; all may be left out, and others are left to other nodes. */
interface TranscribeSettings {
  readonly modelName?: string
  readonly modelTenant?: string
  readonly modelVersion?: string
  readonly splitter?: 'realtime-vad' | 'audio-segmenter'
  readonly sensitivity?: number
  readonly preSpeechMs?: number
  readonly postSpeechMs?: number
  readonly maxSpeechMs?: number
  readonly silenceTriggerMs?: number
  readonly gracefulSilenceMs?: number
}

const fields: Fields<TranscribeSettings> = {
  modelName: optional(text, 'ModelName', 'model-name'),
  modelTenant: optional(text, 'ModelTenant', 'model-tenant'),
  modelVersion: optional(text, 'ModelVersion', 'model-version'),
  splitter: optional(oneOf('realtime-vad', 'audio-segmenter'), 'AudioSplitter', 'audio-splitter'),
  sensitivity: optional(integer(), 'VadSensitivity', 'vad-sensitivity'),
  preSpeechMs: optional(integer(), 'VadPreSpeechBufferMsec', 'vad-pre-speech-buffer-msec'),
  postSpeechMs: optional(integer(), 'VadPostSpeechBufferMsec', 'vad-post-speech-buffer-msec'),
  maxSpeechMs: optional(integer(), 'VadMaxSpeechDurationMsec', 'vad-max-speech-duration-msec'),
  silenceTriggerMs: optional(integer(), 'VadSilenceTriggerMsec', 'vad-silence-trigger-msec'),
  gracefulSilenceMs: optional(integer(), 'VadGracefulSilenceThresholdMsec', 'vad-graceful-silence-threshold-msec'),
}

const settingsCodec = messageCodec('Settings', fields)

const readFields = (settings: Settings): either.Either<SpeechError, TranscribeSettings> => {
  const twin = twinField(settings, fields)
  return twin === undefined ? decodeWith(settingsCodec, settings) : either.left(twin)
}

export interface TranscribePlan {
  readonly model: ModelName
  readonly parameters: SegmenterParameters
}

/**
 * Reads the settings. A call is silent for long stretches, so silence ends nothing here unless
 * `VadGracefulSilenceThresholdMsec` asks for it. Left: `invalid-field` that names the setting.
 */
export const readTranscribeSettings = (settings: Settings): either.Either<SpeechError, TranscribePlan> =>
  either.chain(({ modelName, modelTenant, modelVersion, ...given }: TranscribeSettings) => {
    const model: ModelName = {
      ...(modelName === undefined ? {} : { name: modelName }),
      ...(modelTenant === undefined ? {} : { tenant: modelTenant }),
      ...(modelVersion === undefined ? {} : { version: modelVersion }),
    }
    return either.tryCatch(
      (): TranscribePlan => ({
        model,
        parameters: validateSegmenterParameters(
          { ...defaultSegmenterParameters, gracefulSilenceMs: 0, ...given },
          'setting',
        ),
      }),
      (error) => error as SpeechError,
    )
  })(readFields(settings))
