import { either } from 'fp-ts'
import { SpeechError } from '../../../errors/speech-error.js'
import {
  integer,
  decodeWith,
  messageCodec,
  optional,
  type Fields,
  conflictingAlias,
} from '../../../protocol/message-codec.js'
import { oneOf, text } from '../../../protocol/validation.js'
import type { Settings } from '../../../protocol/dataflow-messages.js'
import {
  defaultSegmenterParameters,
  validateSegmenterParameters,
  type SegmenterParameters,
} from '../../recognition/segmenter-parameters.js'
import type { ModelName } from '../core/node.js'

/** The `Settings` that nodes of recognition read; all may be left out, and others are left to other nodes. */
interface RecognitionSettings {
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

const fields: Fields<RecognitionSettings> = {
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

const settingsCodec = messageCodec(fields)

const readFields = (settings: Settings): either.Either<SpeechError, RecognitionSettings> => {
  const twin = conflictingAlias(settings, fields)
  return twin === undefined ? decodeWith(settingsCodec, settings) : either.left(twin)
}

/** What a session asks of a node of recognition: which model, and how speech is cut into segments. */
export interface RecognitionPlan {
  readonly model: ModelName
  readonly parameters: SegmenterParameters
}

/** What holds where the settings say nothing. */
export interface RecognitionDefaults {
  readonly model?: ModelName
  readonly parameters?: Partial<SegmenterParameters>
}

/**
 * Reads the settings. A call is silent for long stretches, so silence ends nothing here unless
 * `VadGracefulSilenceThresholdMsec` or the node's options ask for it. Left: `invalid-field` that names the setting.
 */
export const readRecognitionSettings = (
  settings: Settings,
  defaults: RecognitionDefaults = {},
): either.Either<SpeechError, RecognitionPlan> =>
  either.chain(({ modelName, modelTenant, modelVersion, ...given }: RecognitionSettings) => {
    const asked: ModelName = {
      ...(modelName === undefined ? {} : { name: modelName }),
      ...(modelTenant === undefined ? {} : { tenant: modelTenant }),
      ...(modelVersion === undefined ? {} : { version: modelVersion }),
    }
    const parameters = { ...defaultSegmenterParameters, gracefulSilenceMs: 0, ...defaults.parameters, ...given }
    return either.tryCatch(
      (): RecognitionPlan => ({
        // Another name is another model: the version of the one that the project names says nothing about it.
        model: modelName === undefined ? { ...defaults.model, ...asked } : asked,
        parameters: validateSegmenterParameters(parameters, 'setting'),
      }),
      (error) => error as SpeechError,
    )
  })(readFields(settings))

/** Why an `Update` that makes the settings these is refused: a setting that does not fit, or another model. */
export const checkRecognitionUpdate = (
  next: Settings,
  now: Settings,
  defaults: RecognitionDefaults = {},
): SpeechError | undefined => {
  const [planned, running] = [readRecognitionSettings(next, defaults), readRecognitionSettings(now, defaults)]
  if (either.isLeft(planned)) return planned.left
  if (either.isLeft(running)) return undefined
  const changed = modelSettings.find(({ key }) => planned.right.model[key] !== running.right.model[key])
  if (changed === undefined) return undefined
  return new SpeechError('invalid-field', `${changed.setting} must stay as it was at the start of the session.`)
}

const modelSettings = [
  { key: 'name', setting: 'ModelName' },
  { key: 'tenant', setting: 'ModelTenant' },
  { key: 'version', setting: 'ModelVersion' },
] as const
