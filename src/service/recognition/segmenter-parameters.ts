import { SpeechError } from '../../errors/speech-error.js'

/** How speech is cut into segments (PROTOCOL 7). Durations are whole milliseconds of audio. */
export interface SegmenterParameters {
  /** `realtime-vad` decides as the audio arrives; `audio-segmenter` looks ahead by up to 30 s and is meant for recordings. */
  readonly splitter: 'realtime-vad' | 'audio-segmenter'
  /** 1 to 10; 10 is the easiest to trigger. */
  readonly sensitivity: number
  /** Audio kept before the first speech frame, 0 to 5000. */
  readonly preSpeechMs: number
  /** Audio kept after the last speech frame, 0 to 5000. */
  readonly postSpeechMs: number
  /** The longest speech before a cut is forced: 1000 or more, or -1 for no limit. */
  readonly maxSpeechMs: number
  /** The silence that ends a segment, 50 to 60 000. */
  readonly silenceTriggerMs: number
  /**
   * The silence that ends a segment whose sentence is complete and cannot continue, 50 to 60 000; 0 for never. Has an effect
   * only if it is shorter than the silence trigger or the post-speech buffer, and if the engine knows such sentences.
   */
  readonly completeSilenceMs: number
  /** The silence that ends the recognition; 0 for never. */
  readonly gracefulSilenceMs: number
  /** Speech after silence that is shorter than this is ignored as a burst, 0 to 1000. Not a field on the wire. */
  readonly onsetMs: number
}

/** The defaults of PROTOCOL 4.2, and 60 ms to confirm an onset. */
export const defaultSegmenterParameters: SegmenterParameters = {
  splitter: 'realtime-vad',
  sensitivity: 6,
  preSpeechMs: 300,
  postSpeechMs: 400,
  maxSpeechMs: -1,
  silenceTriggerMs: 400,
  completeSilenceMs: 120,
  gracefulSilenceMs: 10_000,
  onsetMs: 60,
}

type NumberKey = Exclude<keyof SegmenterParameters, 'splitter'>

/** How an error names a parameter: as a field of `recognize`, or as a setting of a project. */
export type ParameterNaming = 'field' | 'setting'

interface NumberRule {
  readonly field: string
  readonly setting: string
  readonly expected: string
  readonly allows: (value: number) => boolean
}

const between = (min: number, max: number) => (value: number) => value >= min && value <= max

const numberRules: Readonly<Record<NumberKey, NumberRule>> = {
  sensitivity: {
    field: 'vad-sensitivity',
    setting: 'VadSensitivity',
    expected: 'from 1 to 10',
    allows: between(1, 10),
  },
  preSpeechMs: {
    field: 'vad-pre-speech-buffer-msec',
    setting: 'VadPreSpeechBufferMsec',
    expected: 'from 0 to 5000',
    allows: between(0, 5000),
  },
  postSpeechMs: {
    field: 'vad-post-speech-buffer-msec',
    setting: 'VadPostSpeechBufferMsec',
    expected: 'from 0 to 5000',
    allows: between(0, 5000),
  },
  maxSpeechMs: {
    field: 'vad-max-speech-duration-msec',
    setting: 'VadMaxSpeechDurationMsec',
    expected: '-1 for no limit, or 1000 or more',
    allows: (value) => value === -1 || value >= 1000,
  },
  silenceTriggerMs: {
    field: 'vad-silence-trigger-msec',
    setting: 'VadSilenceTriggerMsec',
    expected: 'from 50 to 60000',
    allows: between(50, 60_000),
  },
  completeSilenceMs: {
    field: 'vad-complete-silence-msec',
    setting: 'VadCompleteSilenceMsec',
    expected: '0 for never, or from 50 to 60000',
    allows: (value) => value === 0 || between(50, 60_000)(value),
  },
  gracefulSilenceMs: {
    field: 'vad-graceful-silence-threshold-msec',
    setting: 'VadGracefulSilenceThresholdMsec',
    expected: '0 or more',
    allows: (value) => value >= 0,
  },
  onsetMs: { field: 'vad-onset-msec', setting: 'VadOnsetMsec', expected: 'from 0 to 1000', allows: between(0, 1000) },
}

const refuse = (field: string, expected: string): never => {
  throw new SpeechError('invalid-field', `${field} must be ${expected}.`)
}

/**
 * Returns the parameters if all are valid, and throws `invalid-field` with the name of the first invalid one if not. It
 * takes `unknown` values because they come from messages and from project files.
 */
export const validateSegmenterParameters = (
  parameters: Readonly<Record<keyof SegmenterParameters, unknown>>,
  naming: ParameterNaming = 'field',
): SegmenterParameters => {
  if (parameters.splitter !== 'realtime-vad' && parameters.splitter !== 'audio-segmenter') {
    refuse(naming === 'field' ? 'audio-splitter' : 'AudioSplitter', '"realtime-vad" or "audio-segmenter"')
  }
  for (const [key, rule] of Object.entries(numberRules)) {
    const value = parameters[key as NumberKey]
    const allowed = typeof value === 'number' && Number.isSafeInteger(value) && rule.allows(value)
    if (!allowed) refuse(naming === 'field' ? rule.field : rule.setting, `a whole number, ${rule.expected}`)
  }
  return parameters as SegmenterParameters
}
