import { either } from 'fp-ts'
import { Observable } from 'rxjs'
import { SpeechError } from '../../../errors/speech-error.js'
import {
  conflictingAlias,
  decodeWith,
  integer,
  messageCodec,
  optional,
  type Fields,
} from '../../../protocol/message-codec.js'
import type { Settings } from '../../../protocol/dataflow-messages.js'
import type { RejectLevel } from '../../../protocol/recognizer-messages.js'
import { listOf } from '../../../protocol/collections.js'
import { languageTag, primaryLanguage } from '../../../protocol/language.js'
import { eitherOf, oneOf, text } from '../../../protocol/validation.js'
import { rejectLevel, type RecognizeSettings } from '../../engines/engine.js'
import { readSessionPhrases } from '../../engines/session-phrases.js'
import {
  defaultSegmenterParameters,
  validateSegmenterParameters,
  type SegmenterParameters,
} from '../../recognition/segmenter-parameters.js'
import { flag, oneOfWords, wholeNumberFrom } from '../core/node-options.js'
import { completeModel, type ModelName, type NodeContext, type PortFormats } from '../core/node.js'

const maxMs = 86_400_000

/** The options of nodes that cut speech into segments, with the ranges of `recognize` (PROTOCOL 4.2). */
export const voiceOptions = {
  splitter: oneOfWords('realtime-vad', 'audio-segmenter'),
  sensitivity: wholeNumberFrom(1, 10),
  preSpeechMs: wholeNumberFrom(0, 5000),
  postSpeechMs: wholeNumberFrom(0, 5000),
  maxSpeechMs: eitherOf(oneOf(-1), wholeNumberFrom(1000, maxMs)),
  silenceTriggerMs: wholeNumberFrom(50, 60_000),
  completeSilenceMs: eitherOf(oneOf(0), wholeNumberFrom(50, 60_000)),
  onsetMs: wholeNumberFrom(0, 1000),
  closeAfterSilentWallMs: wholeNumberFrom(0, 60_000),
  channel: wholeNumberFrom(0, 1),
  fromSettings: flag,
}

/** The segmenter parameters among a node's options. */
export const segmenterOptions = (options: Partial<SegmenterParameters>): Partial<SegmenterParameters> =>
  Object.fromEntries(
    Object.entries(options).filter(
      ([name, value]) => Object.hasOwn(defaultSegmenterParameters, name) && value !== undefined,
    ),
  )

/** The `Settings` that nodes of recognition read (PROTOCOL 3.4). All are optional; others are for other nodes. */
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
  readonly completeSilenceMs?: number
  readonly gracefulSilenceMs?: number
  readonly reject?: RejectLevel
  readonly phrases?: readonly string[]
  readonly language?: string
}

/** The names in errors. */
export const phrasesSetting = 'Phrases'
export const languageSetting = 'Language'

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
  completeSilenceMs: optional(integer(), 'VadCompleteSilenceMsec', 'vad-complete-silence-msec'),
  gracefulSilenceMs: optional(integer(), 'VadGracefulSilenceThresholdMsec', 'vad-graceful-silence-threshold-msec'),
  reject: optional(rejectLevel, 'Reject', 'reject'),
  phrases: optional(listOf(text), 'Phrases', 'phrases'),
  language: optional(languageTag, 'Language', 'language'),
}

const settingsCodec = messageCodec(fields)

const decodeSettings = (settings: Settings): either.Either<SpeechError, RecognitionSettings> => {
  const conflict = conflictingAlias(settings, fields)
  return conflict === undefined ? decodeWith(settingsCodec, settings) : either.left(conflict)
}

/** The model of a session, what it asks of the engine, and its segmenter parameters. */
export interface RecognitionPlan {
  readonly model: ModelName
  readonly settings: RecognizeSettings
  readonly parameters: SegmenterParameters
}

/** The project's values for absent settings. */
export interface RecognitionDefaults {
  readonly model?: ModelName | undefined
  readonly reject?: RejectLevel | undefined
  readonly phrases?: readonly string[] | undefined
  readonly language?: string | undefined
  readonly parameters?: Partial<SegmenterParameters> | undefined
}

/**
 * Reads the settings. Silence ends nothing by default, because calls have long silences; `VadGracefulSilenceThresholdMsec`
 * or the node's options turn it on. Left: `invalid-field` with the name of the setting.
 */
export const readRecognitionSettings = (
  settings: Settings,
  defaults: RecognitionDefaults = {},
): either.Either<SpeechError, RecognitionPlan> =>
  either.chain(({ modelName, modelTenant, modelVersion, ...settings }: RecognitionSettings) => {
    const { reject = defaults.reject, phrases = defaults.phrases, language = defaults.language, ...given } = settings
    const parameters = { ...defaultSegmenterParameters, gracefulSilenceMs: 0, ...defaults.parameters, ...given }
    return either.tryCatch(
      (): RecognitionPlan => ({
        model: completeModel({ name: modelName, tenant: modelTenant, version: modelVersion }, defaults.model),
        settings: {
          reject,
          phrases: readSessionPhrases(phrases, phrasesSetting),
          language: language === undefined ? undefined : primaryLanguage(language),
        },
        parameters: validateSegmenterParameters(parameters, 'setting'),
      }),
      (error) => error as SpeechError,
    )
  })(decodeSettings(settings))

const modelSettings = [
  { key: 'name', setting: 'ModelName' },
  { key: 'tenant', setting: 'ModelTenant' },
  { key: 'version', setting: 'ModelVersion' },
] as const

/** The error that refuses an `Update` to these settings: an invalid setting, another model, other phrases or another rejection. */
export const checkRecognitionUpdate = (
  next: Settings,
  now: Settings,
  defaults: RecognitionDefaults = {},
): SpeechError | undefined => {
  const [nextPlan, plan] = [readRecognitionSettings(next, defaults), readRecognitionSettings(now, defaults)]
  if (either.isLeft(nextPlan)) return nextPlan.left
  if (either.isLeft(plan)) return undefined
  const changed =
    modelSettings.find(({ key }) => nextPlan.right.model[key] !== plan.right.model[key])?.setting ??
    (nextPlan.right.settings.reject === plan.right.settings.reject ? undefined : 'Reject') ??
    (nextPlan.right.settings.phrases?.join() === plan.right.settings.phrases?.join() ? undefined : phrasesSetting)
  if (changed === undefined) return undefined
  return new SpeechError('invalid-field', `${changed} cannot be changed after the start of the session.`)
}

/** The present plan: the node's options, and the session's settings if the node uses those. Throws the refusal. */
export const currentPlan = (
  { settings }: Pick<NodeContext, 'settings'>,
  defaults: RecognitionDefaults,
  fromSettings: boolean,
): RecognitionPlan => {
  const plan = readRecognitionSettings(fromSettings ? settings() : {}, defaults)
  if (either.isLeft(plan)) throw plan.left
  return plan.right
}

/** The plan after each `Update` that changed it. Invalid settings change nothing, because they were refused. */
export const changedPlan = (
  { settings, updated$ }: Pick<NodeContext, 'settings' | 'updated$'>,
  defaults: RecognitionDefaults,
  fromSettings: boolean,
): Observable<RecognitionPlan> =>
  new Observable((subscriber) => {
    let previous = ''
    return updated$.subscribe(() => {
      const plan = readRecognitionSettings(fromSettings ? settings() : {}, defaults)
      const next = either.isRight(plan) ? JSON.stringify(plan.right) : previous
      if (next === previous || either.isLeft(plan)) return
      previous = next
      subscriber.next(plan.right)
    })
  })

/** The option `channel` is for mono audio that was split off; stereo audio has channels 0 and 1. */
export const checkChannel = (
  name: string,
  { audio }: PortFormats,
  channel: number | undefined,
): either.Either<string, unknown> =>
  channel !== undefined && audio?.channels === 2
    ? either.left(`${name} with the option channel needs mono audio: the channels of a stereo stream are 0 and 1`)
    : either.right(undefined)
