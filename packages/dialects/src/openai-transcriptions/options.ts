import { languageTag } from 'rxspeech/internal/protocol/language'
import type { RecognitionParameters } from 'rxspeech/internal/protocol/recognition-parameters'
import { invalidField } from '../openai-errors/openai-error.js'

const responseFormats = ['json', 'text', 'srt', 'vtt', 'verbose_json', 'diarized_json'] as const
export type ResponseFormat = (typeof responseFormats)[number]

const granularities = ['segment', 'word'] as const
export type Granularity = (typeof granularities)[number]

/** What a request for a transcription asks for. */
export interface TranscriptionOptions {
  readonly model: string
  readonly format: ResponseFormat
  readonly granularities: readonly Granularity[]
  /** Whether the text is sent by server-sent events while it is recognized. */
  readonly isStreamed: boolean
  readonly parameters: RecognitionParameters
}

/** One field of the form. */
export interface FieldRow {
  /** What the service makes of it. */
  readonly support: string
  /** Whether it may be repeated, with `[]` behind its name. */
  readonly isList?: boolean
  /** Returns what the values mean; throws what is wrong with them. */
  readonly read: (values: readonly string[], name: string) => Partial<TranscriptionOptions>
}

const nothing = {}

/** A field with one value that changes nothing, because the service does that anyway. */
const only = (accepted: readonly string[], support: string): FieldRow => ({
  support,
  read: (values, name) => {
    if (values.every((value) => accepted.includes(value))) return nothing
    throw invalidField(
      name,
      `${name} is not supported here (supported: ${support.replaceAll('`', '')}); omit it.`,
      'unsupported_parameter',
    )
  },
})

const refused = (support: string, isList = false): FieldRow => ({
  support,
  isList,
  read: (_values, name) => {
    throw invalidField(name, `${name} is not supported here; omit it.`, 'unsupported_parameter')
  },
})

const one = (values: readonly string[], name: string): string => {
  const [value = '', ...more] = values
  if (more.length > 0) throw invalidField(name, `Send ${name} once.`)
  return value
}

const languageOf = (value: string, name: string): Partial<TranscriptionOptions> => {
  if (value === '') return nothing
  if (!languageTag.is(value)) throw invalidField(name, `${name} must be a tag such as en or en-US.`)
  return { parameters: { language: value } }
}

const isOneOf = <Word extends string>(words: readonly Word[], value: string): value is Word =>
  (words as readonly string[]).includes(value)

const oneOf = <Word extends string>(words: readonly Word[], value: string, name: string): Word => {
  if (isOneOf(words, value)) return value
  throw invalidField(name, `${name} must be one of ${words.join(', ')}.`)
}

/** All fields of the form but the file. A field without a row is refused by its name. */
export const fieldRows: Readonly<Record<string, FieldRow>> = {
  model: {
    support: 'a model of the service, or a name that `dialects.models` maps to one',
    read: (values, name) => ({ model: one(values, name) }),
  },
  language: {
    support: 'the language of the speech, for a model that has it',
    read: (values, name) => languageOf(one(values, name), name),
  },
  languages: {
    support: 'one language, as `language`',
    isList: true,
    read: (values, name) => languageOf(one(values, name), name),
  },
  keywords: {
    support: 'phrases that are likelier, for a model that takes phrases',
    isList: true,
    read: (values) => ({ parameters: { phrases: values } }),
  },
  response_format: {
    support: `${responseFormats.map((format) => `\`${format}\``).join(', ')} of two channels`,
    read: (values, name) => ({ format: oneOf(responseFormats, one(values, name), name) }),
  },
  timestamp_granularities: {
    support: '`segment`, `word`, with `verbose_json`',
    isList: true,
    read: (values, name) => ({ granularities: values.map((value) => oneOf(granularities, value, name)) }),
  },
  temperature: only(['0', '0.0', ''], '`0`'),
  prompt: only([''], 'empty'),
  stream: {
    support: '`false`; `true` with `json`: definitive texts as events, as soon as they are known',
    read: (values, name) => ({ isStreamed: oneOf(['true', 'false'], one(values, name), name) === 'true' }),
  },
  chunking_strategy: only(['auto'], '`auto`'),
  include: refused('no', true),
  known_speaker_names: refused('no', true),
  known_speaker_references: refused('no', true),
}

/** Reads the fields of a form. Throws an `OpenAiError` that names the first wrong one. */
export const readOptions = (fields: ReadonlyMap<string, readonly string[]>): TranscriptionOptions => {
  let read: Partial<TranscriptionOptions> = {}
  const seen = new Set<string>()
  for (const [name, values] of fields) {
    const bare = name.replace(/\[[^\]]*\]$/, '')
    // The one would replace the other.
    const option = bare === 'languages' ? 'language' : bare
    if (seen.has(option)) throw invalidField(name, `Send ${option} under one name: ${name} is another one.`)
    seen.add(option)
    const row = Object.hasOwn(fieldRows, bare) ? fieldRows[bare] : undefined
    if (row === undefined)
      throw invalidField(name, `The field ${name} is not known here; omit it.`, 'unknown_parameter')
    if (name !== bare && (name !== `${bare}[]` || row.isList !== true)) {
      throw invalidField(name, `${name} is not supported here; omit it.`, 'unsupported_parameter')
    }
    const { parameters, ...others } = row.read(values, name)
    read = { ...read, ...others, parameters: { ...read.parameters, ...parameters } }
  }
  const { model = '', format = 'json', granularities: asked, isStreamed = false, parameters = {} } = read
  if (model === '') throw invalidField('model', 'Name a model.', 'missing_required_parameter')
  if (asked !== undefined && format !== 'verbose_json') {
    throw invalidField('timestamp_granularities', 'timestamp_granularities needs response_format=verbose_json.')
  }
  if (isStreamed && format !== 'json') throw invalidField('stream', 'stream=true needs response_format=json.')
  return { model, format, granularities: asked ?? ['segment'], isStreamed, parameters }
}
