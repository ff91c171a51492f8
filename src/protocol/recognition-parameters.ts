// The parameters of a recognition, each declared once. The options of `recognize` and `dataflow`, the fields of the
// message `recognize` (PROTOCOL 4.2), the settings of a project (3.4), the options of the nodes that cut speech and
// what an engine gets derive from these rows.
import type { TypeOf } from 'io-ts'
import { listOf } from './collections.js'
import { languageTag } from './language.js'
import { optional, orDigits, type Fields } from './message-codec.js'
import { eitherOf, oneOf, text, wholeNumber, type Codec, type Codecs } from './validation.js'

/** One parameter; its key is the name of the option in code. */
export interface ParameterRow {
  /** The field of `recognize`, which is the kebab form of the setting too. */
  readonly field: string
  readonly setting: string
  /** The option of nodes, if its name differs. */
  readonly nodeOption?: string
  // The table keeps the type of each row.
  readonly codec: Codecs[string]
  /** The default of the service; without it, the model decides. */
  readonly default?: string | number
  /** The same for projects and nodes, if it differs. */
  readonly projectDefault?: number
}

export type ParameterTable = Readonly<Record<string, ParameterRow>>

export type AllParametersOf<T extends ParameterTable> = { readonly [K in keyof T]: TypeOf<T[K]['codec']> }
/** Any of the parameters of a table. */
export type ParametersOf<T extends ParameterTable> = { readonly [K in keyof T]?: AllParametersOf<T>[K] | undefined }

/** How the service divides the audio into pieces of speech (PROTOCOL 4.2). */
export type AudioSplitter = 'realtime-vad' | 'audio-segmenter'

/** How readily a model of a grammar rejects speech that its grammar does not contain (PROTOCOL 4.2). */
export type RejectLevel = 'off' | 'low' | 'medium' | 'high'

const audioSplitter: Codec<AudioSplitter> = oneOf('realtime-vad', 'audio-segmenter')
const rejectLevel: Codec<RejectLevel> = oneOf('off', 'low', 'medium', 'high')
const bufferMs = wholeNumber({ min: 0, max: 5_000 })
const silenceMs = wholeNumber({ min: 50, max: 60_000 })

/** How the service detects speech. */
export const voiceActivityParameters = {
  /** The sensitivity of the detection, from 1 to 10, where 10 detects the most speech. @default 6, by PROTOCOL 4.2 */
  sensitivity: {
    field: 'vad-sensitivity',
    setting: 'VadSensitivity',
    codec: wholeNumber({ min: 1, max: 10 }),
    default: 6,
  },
  /** The audio before speech that is recognized with it, in milliseconds, up to 5000. @default 300, by PROTOCOL 4.2 */
  preSpeechBufferMs: {
    field: 'vad-pre-speech-buffer-msec',
    setting: 'VadPreSpeechBufferMsec',
    nodeOption: 'preSpeechMs',
    codec: bufferMs,
    default: 300,
  },
  /** The audio after speech that is recognized with it, in milliseconds, up to 5000. @default 400, by PROTOCOL 4.2 */
  postSpeechBufferMs: {
    field: 'vad-post-speech-buffer-msec',
    setting: 'VadPostSpeechBufferMsec',
    nodeOption: 'postSpeechMs',
    codec: bufferMs,
    default: 400,
  },
  /** The longest segment of speech, in milliseconds, from 1000; -1 for no limit. @default -1, by PROTOCOL 4.2 */
  maxSpeechDurationMs: {
    field: 'vad-max-speech-duration-msec',
    setting: 'VadMaxSpeechDurationMsec',
    nodeOption: 'maxSpeechMs',
    codec: eitherOf(oneOf(-1), wholeNumber({ min: 1_000 })),
    default: -1,
  },
  /** The silence that ends a segment of speech, in milliseconds, from 50 to 60 000. @default 400, by PROTOCOL 4.2 */
  silenceTriggerMs: {
    field: 'vad-silence-trigger-msec',
    setting: 'VadSilenceTriggerMsec',
    codec: silenceMs,
    default: 400,
  },
  /**
   * The silence that ends a complete sentence of a grammar, in milliseconds, from 50 to 60 000; 0 for none. It has an
   * effect only if it is shorter than the silence that ends a segment or the audio after speech, and if the engine
   * knows such sentences. @default 120, by PROTOCOL 4.2
   */
  completeSilenceMs: {
    field: 'vad-complete-silence-msec',
    setting: 'VadCompleteSilenceMsec',
    codec: eitherOf(oneOf(0), silenceMs),
    default: 120,
  },
  /** The silence that ends the recognition, in milliseconds; 0: none. @default 10_000; 0 with `dataflow` */
  gracefulSilenceThresholdMs: {
    field: 'vad-graceful-silence-threshold-msec',
    setting: 'VadGracefulSilenceThresholdMsec',
    nodeOption: 'gracefulSilenceMs',
    codec: wholeNumber({ min: 0 }),
    default: 10_000,
    projectDefault: 0,
  },
} as const satisfies ParameterTable

/** How the service cuts speech into segments (PROTOCOL 7). */
export const segmentationParameters = {
  /**
   * How the service divides the audio: `realtime-vad` decides as the audio arrives; `audio-segmenter` looks ahead by up
   * to 30 s and is meant for recordings. @default 'realtime-vad'
   */
  audioSplitter: {
    field: 'audio-splitter',
    setting: 'AudioSplitter',
    nodeOption: 'splitter',
    codec: audioSplitter,
    default: 'realtime-vad',
  },
  ...voiceActivityParameters,
} as const satisfies Readonly<Record<string, ParameterRow & { readonly default: unknown }>>

/** What a session asks of the engine beside its model. */
export const engineParameters = {
  /**
   * How readily a model of a grammar rejects speech that its grammar does not contain. Rejected speech has the
   * event `SR No Match` with its times instead of a milestone. @default that of the model, which is "medium"
   */
  reject: { field: 'reject', setting: 'Reject', codec: rejectLevel },
  /**
   * Sentences that this session recognizes in addition to those of a model with a grammar, each as a whole: 1 to 100 of
   * 1 to 10 words, such as the names that a caller may say now. For a model of dictation they are likelier than other
   * words. Letter case and punctuation are ignored. The service refuses words that the dictionary of the model lacks,
   * and models that take no phrases, with `invalid-field`. @default none
   */
  phrases: { field: 'phrases', setting: 'Phrases', codec: listOf(text) },
  /**
   * The language of the speech, for a model of several: a tag of BCP 47 such as `en` or `en-US`, of which the first
   * part counts, or `auto` for a model that can detect it. The service refuses a language that the model lacks with
   * `invalid-field`. With `dataflow` it is `Language` of the Start (PROTOCOL 3.1), which may be any string that the
   * project knows, and an `Update` of the setting `Language` changes it from the next segment on. @default that of the
   * model, or the one that it detects
   */
  language: { field: 'language', setting: 'Language', codec: languageTag },
} as const satisfies ParameterTable

export const recognitionParameters = {
  ...segmentationParameters,
  ...engineParameters,
} as const satisfies ParameterTable

export type RecognitionParameters = ParametersOf<typeof recognitionParameters>

/** The parameters of a table that some values have. */
export const pickParameters = <T extends ParameterTable>(
  table: T,
  values: ParametersOf<T>,
): Partial<AllParametersOf<T>> =>
  Object.fromEntries(
    Object.keys(table).flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]]])),
  ) as Partial<AllParametersOf<T>>

type CodecsOf<T extends ParameterTable> = { readonly [K in keyof T]: T[K]['codec'] }

export const codecsOf = <T extends ParameterTable>(table: T): CodecsOf<T> =>
  Object.fromEntries(Object.entries(table).map(([name, { codec }]) => [name, codec])) as CodecsOf<T>

/** The fields of a message with these parameters. */
export const fieldsOf = <T extends ParameterTable>(
  table: T,
  namesOf: (row: ParameterRow) => [string, ...string[]],
): Fields<ParametersOf<T>> =>
  Object.fromEntries(
    Object.entries(table).map(([name, row]) => [name, optional(orDigits(row.codec), ...namesOf(row))]),
  ) as unknown as Fields<ParametersOf<T>>
