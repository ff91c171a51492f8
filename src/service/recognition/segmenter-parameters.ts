import { SpeechError } from '../../errors/speech-error.js'

/** How speech is cut into segments; service.md 4.2 `recognize`. Durations are milliseconds of audio, whole numbers. */
export interface SegmenterParameters {
  /** `realtime-vad` decides as it goes; `audio-segmenter` looks ahead by up to 30 s of audio and is meant for recordings. */
  readonly splitter: 'realtime-vad' | 'audio-segmenter'
  /** 1 to 10; 10 is the easiest to trigger. */
  readonly sensitivity: number
  /** Audio kept before the first speech frame, 0 to 5000. */
  readonly preSpeechMs: number
  /** Audio kept after the last speech frame, 0 to 5000. */
  readonly postSpeechMs: number
  /** The longest speech before a cut is forced: -1 for no limit, else 1000 or more. */
  readonly maxSpeechMs: number
  /** The silence that ends a segment, 50 to 60 000. */
  readonly silenceTriggerMs: number
  /** The silence that ends the recognition; 0 switches it off. */
  readonly gracefulSilenceMs: number
  /** Speech shorter than this, out of silence, is a burst and refused. Ours, not on the wire; 0 to 1000. */
  readonly onsetMs: number
}

/** The defaults of service.md 4.2, and 60 ms to confirm an onset. */
export const defaultSegmenterParameters: SegmenterParameters = {
  splitter: 'realtime-vad',
  sensitivity: 6,
  preSpeechMs: 300,
  postSpeechMs: 400,
  maxSpeechMs: -1,
  silenceTriggerMs: 400,
  gracefulSilenceMs: 10_000,
  onsetMs: 60,
}

type NumberKey = Exclude<keyof SegmenterParameters, 'splitter'>

/** What the one who reads a refusal wrote: a field of `recognize`, or a setting of a project. */
export type ParameterNaming = 'field' | 'setting'

interface NumberRule {
  readonly field: string
  readonly setting: string
  readonly expected: string
  readonly allows: (value: number) => boolean
}

const between = (low: number, high: number) => (value: number) => value >= low && value <= high

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
 * The parameters themselves when they can be kept to; else throws `invalid-field` with the name of the first that
 * can't, as the one who wrote it named it. Takes `unknown` values on purpose: they come from messages and from project files.
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
