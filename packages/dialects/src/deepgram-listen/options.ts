import { maxSampleRateHz, minSampleRateHz, type AudioFormat, type Encoding } from 'rxspeech/internal/audio/format'
import { languageTag } from 'rxspeech/internal/protocol/language'
import { recognitionParameters, type RecognitionParameters } from 'rxspeech/internal/protocol/recognition-parameters'
import { invalidOption } from './deepgram-error.js'

/** What the query of a socket or of a recording asks for. */
export interface ListenOptions {
  readonly model: string
  readonly encoding: Encoding | undefined
  readonly sampleRateHz: number | undefined
  readonly channels: AudioFormat['channels'] | undefined
  /** Whether each channel has results of its own; otherwise they are mixed. */
  readonly isMultichannel: boolean
  readonly hasSpeakers: boolean
  readonly sendsInterims: boolean
  readonly sendsSpeechStarted: boolean
  /** Whether a segment that silence ended is `speech_final`. */
  readonly hasEndpoints: boolean
  /** The silence behind the last word that is reported; undefined for none. */
  readonly utteranceEndMs: number | undefined
  readonly hasUtterances: boolean
  readonly parameters: RecognitionParameters
}

/** One option of the query. */
export interface OptionRow {
  /** What the service makes of it. */
  readonly support: string
  /** Whether only a socket or only a recording has it. @default both */
  readonly only?: 'socket' | 'recording'
  /** Whether it may be repeated. @default false */
  readonly isList?: boolean
  /** Returns what the values mean; throws what is wrong with them. */
  readonly read: (value: string, name: string, values: readonly string[]) => Partial<ListenOptions>
}

const nothing = {}

/** An option with values that change nothing, which clients send by default. */
const accepting = (...accepted: readonly string[]): OptionRow => ({
  support: `${accepted.map((value) => `\`${value}\``).join(' or ')}, which ${accepted.length > 1 ? 'change' : 'changes'} nothing`,
  read: (value, name) => {
    if (accepted.includes(value)) return nothing
    throw invalidOption(`${name}=${shown(value)} is not supported here; omit ${name}.`)
  },
})

const shown = (value: string): string => JSON.stringify(value.slice(0, 100))

const flag = (value: string, name: string): boolean => {
  if (value === 'true' || value === 'false') return value === 'true'
  throw invalidOption(`${name} must be true or false.`)
}

const whole = (value: string, name: string, min: number, max: number): number => {
  const number = Number(value)
  if (/^\d+$/.test(value) && number >= min && number <= max) return number
  throw invalidOption(`${name} must be a whole number from ${min} to ${max}.`)
}

const encodings: Readonly<Record<string, Encoding>> = { linear16: 'pcm', mulaw: 'ulaw', alaw: 'alaw' }

const encodingOf = (value: string, name: string): Encoding => {
  const encoding = Object.hasOwn(encodings, value) ? encodings[value] : undefined
  if (encoding !== undefined) return encoding
  throw invalidOption(`${name} must be one of ${Object.keys(encodings).join(', ')}; other audio needs a WAV header.`)
}

const languageOf = (value: string, name: string): string => {
  if (value === 'multi') return 'auto'
  if (languageTag.is(value)) return value
  throw invalidOption(`${name} must be a tag such as en or en-US, or multi.`)
}

/** A shorter pause is a part of a sentence: recognized by itself, its words would be others. */
const minSilenceMs = recognitionParameters.silenceTriggerMs.default

const maxMs = 60_000

const endpointing = (value: string, name: string): Partial<ListenOptions> => {
  if (value === 'false') return { hasEndpoints: false }
  if (value === 'true') return nothing
  return { parameters: { silenceTriggerMs: Math.max(minSilenceMs, whole(value, name, 0, maxMs)) } }
}

/** All options of the query. One without a row is refused by its name. */
export const optionRows: Readonly<Record<string, OptionRow>> = {
  model: {
    support: 'a model of the service, or a name that `dialects.models` maps to one',
    read: (model) => ({ model }),
  },
  version: accepting('latest'),
  language: {
    support: 'the language of the speech, for a model that has it; `multi`, for a model that detects it',
    read: (value, name) => ({ parameters: { language: languageOf(value, name) } }),
  },
  keyterm: {
    support: 'a phrase that is likelier, for a model that takes phrases',
    isList: true,
    read: (_first, _name, phrases) => ({ parameters: { phrases } }),
  },
  encoding: {
    support: '`linear16`, `mulaw`, `alaw`; without it the audio begins with the header of a WAV file',
    only: 'socket',
    read: (value, name) => ({ encoding: encodingOf(value, name) }),
  },
  sample_rate: {
    support: `${minSampleRateHz} to ${maxSampleRateHz}, with \`encoding\``,
    only: 'socket',
    read: (value, name) => ({ sampleRateHz: whole(value, name, minSampleRateHz, maxSampleRateHz) }),
  },
  channels: {
    support: '`1` or `2`, with `encoding`; two are mixed unless `multichannel=true`',
    only: 'socket',
    read: (value, name) => ({ channels: whole(value, name, 1, 2) === 2 ? 2 : 1 }),
  },
  multichannel: {
    support: '`true`: each channel has results of its own, and counts as a session',
    read: (value, name) => ({ isMultichannel: flag(value, name) }),
  },
  diarize: {
    support: '`true`, on a socket with `multichannel=true`: the speaker of a word is the number of its channel',
    read: (value, name) => ({ hasSpeakers: flag(value, name) }),
  },
  interim_results: {
    support: '`true`: partial results',
    only: 'socket',
    read: (value, name) => ({ sendsInterims: flag(value, name) }),
  },
  endpointing: {
    support: `the silence in ms that ends a segment, of which less than ${minSilenceMs} counts as that; \`false\`: no result is \`speech_final\``,
    only: 'socket',
    read: endpointing,
  },
  utterance_end_ms: {
    support: `1000 to ${maxMs}: \`UtteranceEnd\` after this much audio without a word`,
    only: 'socket',
    read: (value, name) => ({ utteranceEndMs: whole(value, name, 1_000, maxMs) }),
  },
  vad_events: {
    support: '`true`: `SpeechStarted`',
    only: 'socket',
    read: (value, name) => ({ sendsSpeechStarted: flag(value, name) }),
  },
  utterances: {
    support: '`true`: `utterances`, one for each segment',
    only: 'recording',
    read: (value, name) => ({ hasUtterances: flag(value, name) }),
  },
  punctuate: accepting('true', 'false'),
  smart_format: accepting('true', 'false'),
  filler_words: accepting('true', 'false'),
  no_delay: accepting('true', 'false'),
  mip_opt_out: accepting('true', 'false'),
  alternatives: accepting('1'),
  detect_entities: accepting('false'),
  detect_language: accepting('false'),
  dictation: accepting('false'),
  numerals: accepting('false'),
  paragraphs: accepting('false'),
  profanity_filter: accepting('false'),
  redact: accepting('false'),
}

const hints: Readonly<Record<string, string>> = {
  keywords: 'send each as keyterm.',
  callback: 'omit it, and read the answer to the request.',
}

/** Reads a query. Throws a `DeepgramError` that names the first wrong option. */
export const readOptions = (query: URLSearchParams, kind: 'socket' | 'recording'): ListenOptions => {
  let read: Partial<ListenOptions> = {}
  for (const name of new Set(query.keys())) {
    const row = Object.hasOwn(optionRows, name) ? optionRows[name] : undefined
    const shownName = name.slice(0, 100)
    if (row === undefined) throw invalidOption(`${shownName} is not supported here; ${hints[name] ?? 'omit it.'}`)
    if (row.only !== undefined && row.only !== kind) {
      throw invalidOption(`${name} is supported only for a ${row.only}; omit it.`)
    }
    const values = query.getAll(name)
    const [first = ''] = values
    if (row.isList !== true && values.some((value) => value !== first)) throw invalidOption(`Send ${name} once.`)
    const { parameters, ...others } = row.read(first, name, values)
    read = { ...read, ...others, parameters: { ...read.parameters, ...parameters } }
  }
  const options = { ...defaults, ...read }
  const { encoding, sampleRateHz, channels, isMultichannel, hasSpeakers } = options
  if (encoding !== undefined && sampleRateHz === undefined) throw invalidOption('encoding needs sample_rate.')
  if (encoding === undefined && (sampleRateHz !== undefined || channels !== undefined)) {
    throw invalidOption('sample_rate and channels need encoding; a WAV header has its own.')
  }
  // A client of recordings asks for it by default.
  if (kind === 'socket' && hasSpeakers && !isMultichannel) throw invalidOption('diarize=true needs multichannel=true.')
  return options
}

const defaults: ListenOptions = {
  model: '',
  encoding: undefined,
  sampleRateHz: undefined,
  channels: undefined,
  isMultichannel: false,
  hasSpeakers: false,
  sendsInterims: false,
  sendsSpeechStarted: false,
  hasEndpoints: true,
  utteranceEndMs: undefined,
  hasUtterances: false,
  parameters: {},
}
