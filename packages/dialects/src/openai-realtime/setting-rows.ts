import { maxSampleRateHz, minSampleRateHz } from 'rxspeech/internal/audio/format'
import { listOf } from 'rxspeech/internal/protocol/collections'
import { isJsonObject, type JsonObject } from 'rxspeech/internal/protocol/json-object'
import { languageTag } from 'rxspeech/internal/protocol/language'
import {
  codec,
  nonEmptyText,
  number,
  oneOf,
  text,
  wholeNumber,
  type Codec,
} from 'rxspeech/internal/protocol/validation'
import { invalidField } from '../openai-errors/openai-error.js'
import { defaultSettings, defaultVoiceActivity, delays, type SessionSettings, type VoiceActivity } from './settings.js'

/** One setting. */
export interface SettingRow {
  /** What the service makes of it. */
  readonly support: string
  /** Returns the settings with the value; throws what is wrong with it. */
  readonly read: (settings: SessionSettings, value: unknown, name: string) => SessionSettings
}

const setting = <A>(
  support: string,
  expected: Codec<A>,
  apply: (settings: SessionSettings, value: A, name: string) => SessionSettings,
): SettingRow => ({
  support,
  read: (settings, value, name) => {
    if (!expected.is(value)) throw invalidField(name, `${name} must be ${expected.name}.`)
    return apply(settings, value, name)
  },
})

/** Changes nothing with these values, because the service does that anyway; refused with any other. */
const only = (support: string, ...accepted: readonly unknown[]): SettingRow => ({
  support,
  read: (settings, value, name) => {
    if (accepted.includes(value)) return settings
    throw unsupported(name, support.replaceAll('`', ''))
  },
})

/** Concerns the answers of a model that speaks, of which there are none. */
const ofAnswers = (why: string): SettingRow => ({ support: `no effect: ${why}`, read: (settings) => settings })

const unsupported = (name: string, support: string) =>
  invalidField(name, `${name} is not supported here (supported: ${support}); omit it.`, 'unsupported_parameter')

const orNull = <A>(value: Codec<A>): Codec<A | null> =>
  codec(`${value.name}, or null`, (input): input is A | null => input === null || value.is(input))

const ofVoiceActivity = (key: keyof VoiceActivity, support: string, expected: Codec<number>): SettingRow =>
  setting(support, expected, (settings, value, name) => {
    if (settings.turns !== 'server_vad') throw invalidField(name, `${name} needs a turn_detection of type server_vad.`)
    return { ...settings, voiceActivity: { ...settings.voiceActivity, [key]: value } }
  })

const telephoneRateHz = 8000

/** All settings of `session`, in the order in which they take effect. A setting without a row is refused by its name. */
export const settingRows: Readonly<Record<string, SettingRow>> = {
  type: setting(
    '`transcription`; `realtime` for clients that have no other, without answers',
    oneOf('transcription', 'realtime'),
    (settings, type) => ({
      ...settings,
      type,
    }),
  ),
  'audio.input.format.type': setting(
    '`audio/pcm`: 16-bit, one channel; `audio/pcmu` and `audio/pcma` at 8000 Hz',
    oneOf('audio/pcm', 'audio/pcmu', 'audio/pcma'),
    (settings, type) => ({
      ...settings,
      format: { type, rate: type === 'audio/pcm' ? defaultSettings.format.rate : telephoneRateHz },
    }),
  ),
  'audio.input.format.rate': setting(
    `of \`audio/pcm\`: ${minSampleRateHz} to ${maxSampleRateHz} Hz, 24000 by default`,
    wholeNumber({ min: minSampleRateHz, max: maxSampleRateHz, unit: 'Hz' }),
    (settings, rate, name) => {
      if (settings.format.type !== 'audio/pcm' && rate !== telephoneRateHz) {
        throw invalidField(name, `${name} of ${settings.format.type} is ${telephoneRateHz}.`)
      }
      return { ...settings, format: { ...settings.format, rate } }
    },
  ),
  'audio.input.noise_reduction': only('`null`', null),
  'audio.input.transcription.model': setting(
    'a model of the service, or a name that `dialects.models` maps to one; by default that of the address',
    nonEmptyText,
    (settings, model) => ({ ...settings, model }),
  ),
  'audio.input.transcription.language': setting(
    'the language of the speech, for a model that has it',
    orNull(languageTag),
    (settings, language) => ({ ...settings, language: language ?? undefined }),
  ),
  'audio.input.transcription.languages': setting(
    'one language, as `language`',
    orNull(listOf(languageTag, { maxLength: 1 })),
    (settings, languages) => ({ ...settings, language: languages?.[0] }),
  ),
  'audio.input.transcription.keywords': setting(
    'phrases that are likelier, for a model that takes phrases',
    orNull(listOf(text, { maxLength: 100 })),
    (settings, keywords) => ({ ...settings, keywords: keywords ?? [] }),
  ),
  'audio.input.transcription.prompt': only('empty', '', null),
  'audio.input.transcription.delay': setting(
    '`high`, `xhigh`: each `delta` is definitive, as `completed` writes it; `minimal`, `low`, `medium`: as without it',
    orNull(oneOf(...delays)),
    (settings, delay) => ({ ...settings, delay: delay ?? undefined }),
  ),
  'audio.input.turn_detection': {
    support: '`null`: the client commits; or the following',
    read: (settings, value, name) => {
      if (value !== null) throw invalidField(name, `${name} must be an object, or null.`)
      return { ...settings, turns: 'client' }
    },
  },
  'audio.input.turn_detection.type': setting(
    '`server_vad`; `semantic_vad`, which is the same with the defaults of the service',
    oneOf('server_vad', 'semantic_vad'),
    (settings, turns) => ({ ...settings, turns, voiceActivity: defaultVoiceActivity }),
  ),
  'audio.input.turn_detection.threshold': ofVoiceActivity(
    'threshold',
    '0 to 1: how loud speech must be; 0.5 is the default of the service',
    number({ min: 0, max: 1 }),
  ),
  'audio.input.turn_detection.prefix_padding_ms': ofVoiceActivity(
    'prefix_padding_ms',
    'the audio before speech that is recognized with it: 0 to 5000',
    wholeNumber({ min: 0, max: 5_000 }),
  ),
  'audio.input.turn_detection.silence_duration_ms': ofVoiceActivity(
    'silence_duration_ms',
    'the silence that ends an item: 50 to 60000',
    wholeNumber({ min: 50, max: 60_000 }),
  ),
  'audio.input.turn_detection.eagerness': only('`auto`', 'auto', null),
  'audio.input.turn_detection.idle_timeout_ms': only('`null`', null),
  'audio.input.turn_detection.create_response': ofAnswers('there are no answers'),
  'audio.input.turn_detection.interrupt_response': ofAnswers('there are no answers'),
  include: {
    support: '`[]`',
    read: (settings, value, name) => {
      if (value === null || (Array.isArray(value) && value.length === 0)) return settings
      throw unsupported(name, '[]')
    },
  },
  'audio.output': ofAnswers('@openai/agents-realtime sends it'),
  instructions: ofAnswers('@openai/agents-realtime sends it'),
  model: ofAnswers('@openai/agents-realtime sends it; see `audio.input.transcription.model`'),
  output_modalities: ofAnswers('@openai/agents-realtime sends it'),
  tracing: only('`auto`, `null`: nothing is traced for the client', 'auto', null),
}

const subject = 'session'

/** The values of an object by the names of their rows. */
const flattened = (value: JsonObject, path = ''): readonly (readonly [name: string, value: unknown])[] =>
  Object.entries(value).flatMap(([key, inner]) => {
    const name = path + key
    const hasRows = Object.keys(settingRows).some((row) => row.startsWith(`${name}.`))
    if (hasRows && isJsonObject(inner)) return flattened(inner, `${name}.`)
    if (Object.hasOwn(settingRows, name)) return [[name, inner] as const]
    const full = `${subject}.${name}`
    if (hasRows) throw invalidField(full, `${full} must be an object.`)
    throw invalidField(full, `The setting ${full} is not known here; omit it.`, 'unknown_parameter')
  })

/** The settings with those of a `session.update`. Throws an `OpenAiError` that names the first wrong one. */
export const updateSettings = (settings: SessionSettings, session: JsonObject): SessionSettings => {
  const values = new Map(flattened(session))
  return Object.entries(settingRows).reduce(
    (changed, [name, row]) => (values.has(name) ? row.read(changed, values.get(name), `${subject}.${name}`) : changed),
    settings,
  )
}
