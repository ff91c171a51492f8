import { withoutUndefined } from 'rxspeech-engines/without-undefined'
import { either } from 'fp-ts'
import { Observable } from 'rxjs'
import type { RecognizeSettings } from 'rxspeech-engines/engine'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import {
  recognitionSettings,
  type RecognitionSettings,
  settingFields,
  type Settings,
} from 'rxspeech/internal/protocol/dataflow-messages'
import { conflictingAlias, decodeWith } from 'rxspeech/internal/protocol/message-codec'
import {
  engineParameters,
  type ParameterTable,
  pickParameters,
  segmentationParameters,
} from 'rxspeech/internal/protocol/recognition-parameters'
import { readParameters, type ReadParameters } from '../../recognition/read-parameters.js'
import { projectSegmenterParameters, type SegmenterParameters } from '../../recognition/segmenter-parameters.js'
import { flag, wholeNumberFrom } from '../core/node-options.js'
import { completeModel, type ModelName, type NodeContext, type PortFormats } from '../core/node.js'

/** Codecs by the names that nodes give the parameters of a table. */
type NodeCodecs<T extends ParameterTable> = {
  readonly [K in keyof T as T[K] extends { readonly nodeOption: infer Name extends string } ? Name : K]: T[K]['codec']
}

const nodeCodecs = <T extends ParameterTable>(table: T): NodeCodecs<T> =>
  Object.fromEntries(
    Object.entries(table).map(([name, { nodeOption = name, codec }]) => [nodeOption, codec]),
  ) as unknown as NodeCodecs<T>

const { gracefulSilenceMs, ...voiceCodecs } = nodeCodecs(segmentationParameters)

/** The options of nodes that cut speech into segments: the parameters of `recognize` (PROTOCOL 4.2), and others. */
export const voiceOptions = {
  ...voiceCodecs,
  onsetMs: wholeNumberFrom(0, 1000),
  closeAfterSilentWallMs: wholeNumberFrom(0, 60_000),
  channel: wholeNumberFrom(0, 1),
  fromSettings: flag,
}

/** The option of a node that ends a recognition. */
export const gracefulOption = { gracefulSilenceMs }

/** The segmenter parameters among a node's options. */
export const segmenterOptions = (options: Readonly<Record<string, unknown>>): Partial<SegmenterParameters> => {
  const rows: ParameterTable = segmentationParameters
  const given = Object.keys(projectSegmenterParameters).map((name) => [name, options[rows[name]?.nodeOption ?? name]])
  return withoutUndefined(Object.fromEntries(given) as Partial<SegmenterParameters>)
}

/** The names in errors. */
export const phrasesSetting = engineParameters.phrases.setting
export const languageSetting = engineParameters.language.setting

const decodeSettings = (settings: Settings): either.Either<SpeechError, RecognitionSettings> => {
  const conflict = conflictingAlias(settings, settingFields)
  return conflict === undefined ? decodeWith(recognitionSettings, settings) : either.left(conflict)
}

/** The model of a session, what it asks of the engine, and its segmenter parameters. */
export interface RecognitionPlan extends ReadParameters {
  readonly model: ModelName
}

/** The project's values for absent settings. */
export interface RecognitionDefaults extends RecognizeSettings {
  readonly model?: ModelName | undefined
  readonly parameters?: Partial<SegmenterParameters> | undefined
}

/**
 * Reads the settings. Silence ends nothing by default, because calls have long silences;
 * `VadGracefulSilenceThresholdMsec` or the node's options turn it on. Left: `invalid-field` with the name of the
 * setting.
 */
export const readRecognitionSettings = (
  settings: Settings,
  defaults: RecognitionDefaults = {},
): either.Either<SpeechError, RecognitionPlan> =>
  either.chain(({ modelName, modelTenant, modelVersion, ...given }: RecognitionSettings) =>
    either.tryCatch(
      (): RecognitionPlan => ({
        model: completeModel({ name: modelName, tenant: modelTenant, version: modelVersion }, defaults.model),
        ...readParameters(
          { ...pickParameters(engineParameters, defaults), ...given },
          { ...projectSegmenterParameters, ...defaults.parameters },
          phrasesSetting,
        ),
      }),
      (error) => error as SpeechError,
    ),
  )(decodeSettings(settings))

const modelSettings = [
  { key: 'name', setting: 'ModelName' },
  { key: 'tenant', setting: 'ModelTenant' },
  { key: 'version', setting: 'ModelVersion' },
] as const

/** The error that refuses an `Update`: an invalid setting, another model, other phrases or another rejection. */
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
