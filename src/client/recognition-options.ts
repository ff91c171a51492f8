import {
  codecsOf,
  engineParameters,
  pickParameters,
  recognitionParameters,
  segmentationParameters,
  voiceActivityParameters,
  type ParametersOf,
  type RecognitionParameters,
} from '../protocol/recognition-parameters.js'
import { optionsOf, text } from '../protocol/validation.js'

/** How the service detects speech (PROTOCOL 4.2 and 7). An absent option has the default of the service. */
export interface VoiceActivityOptions extends ParametersOf<typeof voiceActivityParameters> {}

/** The options of a recognition that `recognize` and `dataflow` share. */
export interface RecognitionOptions extends Omit<RecognitionParameters, keyof VoiceActivityOptions> {
  /** The version of the model. @default the version that the service chooses */
  readonly modelVersion?: string | undefined
  /** How the service detects speech; an absent option has the default of the service. @default {} */
  readonly voiceActivity?: VoiceActivityOptions | undefined
}

const { audioSplitter } = segmentationParameters
const otherParameters = { audioSplitter, ...engineParameters }

export const recognitionCodecs = {
  modelVersion: text,
  voiceActivity: optionsOf<VoiceActivityOptions>()({}, codecsOf(voiceActivityParameters)),
  ...codecsOf(otherParameters),
}

/** The parameters that options contain. */
export const parametersOf = ({ voiceActivity, ...options }: RecognitionOptions): RecognitionParameters =>
  pickParameters(recognitionParameters, { ...options, ...voiceActivity })

/** The options with these parameters: the inverse of `parametersOf`. */
export const optionsWith = (parameters: RecognitionParameters): RecognitionOptions => ({
  ...pickParameters(otherParameters, parameters),
  voiceActivity: pickParameters(voiceActivityParameters, parameters),
})
