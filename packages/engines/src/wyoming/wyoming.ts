import { asyncScheduler, type SchedulerLike } from 'rxjs'
import type { TypeOf } from 'io-ts'
import { isJsonObject, type JsonObject } from 'rxspeech/internal/protocol/json-object'
import { primaryLanguage } from 'rxspeech/internal/protocol/language'
import { ownValue } from 'rxspeech/internal/protocol/parse-json'
import { oneOf, optionsCodec } from 'rxspeech/internal/protocol/validation'
import type { Engine, EngineKind, ModelDescription } from '../engine.js'
import { readModelFile } from '../models/model-files.js'
import { decodeModelOptions, invalidModel, textOption } from '../models/model-json.js'
import { createOfflineEngine, partialsOption } from '../offline/offline-engine.js'
import { languageKeys, serverKeys, serverName, serverUrl, warmUpTone } from '../recognition-server.js'
import { converse, type WyomingServer } from './connection.js'
import { writeMessage } from './messages.js'
import { WyomingReader } from './reader.js'

/** `model.json` of this engine: a server of the Wyoming protocol. */
const modelOptions = optionsCodec(
  { engine: oneOf('wyoming'), url: textOption('the address of a server, such as "tcp://127.0.0.1:10300"') },
  {
    ...serverKeys,
    ...languageKeys,
    model: textOption('the name of a model there'),
    partials: partialsOption,
  },
)

type WyomingOptions = TypeOf<typeof modelOptions>

/** Throws `invalid-model` for a key or a value that `model.json` of this engine cannot have. */
const readWyomingOptions = (model: ModelDescription): WyomingOptions => {
  const options = decodeModelOptions(model, modelOptions)
  wyomingUrl(model, options)
  return options
}

const wyomingUrl = (model: ModelDescription, options: WyomingOptions): URL => {
  const url = serverUrl(model, options, { plain: 'tcp:', secure: 'tls:' })
  if (url.port === '')
    throw invalidModel(model, '"url" in model.json must have a port, such as "tcp://127.0.0.1:10300".')
  return url
}

const maxReadMs = 20_000
const describeWithinMs = 2_000
const never = new AbortController().signal

const objectsIn = (object: JsonObject, name: string): readonly JsonObject[] => {
  const value = ownValue(object, name)
  return Array.isArray(value) ? value.filter(isJsonObject) : []
}

/** A model that the server has, and its languages. */
interface OfferedModel {
  readonly name: string
  readonly languages: readonly string[]
}

const offeredModels = (info: JsonObject): readonly OfferedModel[] =>
  objectsIn(info, 'asr').flatMap((program) =>
    objectsIn(program, 'models').map((model) => {
      const [name, languages] = [ownValue(model, 'name'), ownValue(model, 'languages')]
      return {
        name: typeof name === 'string' ? name : '',
        languages: Array.isArray(languages) ? languages.filter((one): one is string => typeof one === 'string') : [],
      }
    }),
  )

/** Asks what the server has. It answers while it reads, so it also shows whether the server works. */
const describe = (server: WyomingServer): Promise<JsonObject> =>
  converse(
    server,
    [writeMessage('describe')],
    ({ type, data }) => (type === 'info' ? data : undefined),
    describeWithinMs,
    never,
  )

/** Throws `invalid-model` for a model that the server does not have; the languages of the one that it uses. */
const languagesOf = (
  model: ModelDescription,
  { model: named }: WyomingOptions,
  info: JsonObject,
): readonly string[] => {
  const offered = offeredModels(info)
  if (objectsIn(info, 'asr').length === 0) throw invalidModel(model, 'the server at "url" recognizes no speech.')
  const chosen = named === undefined ? offered : offered.filter(({ name }) => name === named)
  if (named !== undefined && chosen.length === 0) {
    const names = offered.map(({ name }) => name).slice(0, 20)
    throw invalidModel(model, `"model" in model.json is none of the server, which has ${names.join(', ') || 'none'}.`)
  }
  return [...new Set(chosen.flatMap(({ languages }) => languages))]
}

const open = async (model: ModelDescription, scheduler: SchedulerLike): Promise<Engine> => {
  const options = readWyomingOptions(model)
  const { sampleRateHz = 16_000, segmentsAtOnce = 2, partials, language } = options
  const url = wyomingUrl(model, options)
  const ca = options.ca === undefined ? undefined : await readModelFile(model, 'ca', options.ca)
  const server: WyomingServer = { url, name: serverName(model, url), ca, scheduler }
  const described = languagesOf(model, options, await describe(server))
  const languages = [...new Set((options.languages ?? described).map(primaryLanguage))]
  if (language !== undefined && languages.length > 0 && !languages.includes(primaryLanguage(language))) {
    // The server would only warn in its own log, and use another one.
    throw invalidModel(
      model,
      `"language" in model.json is none of the server's, which are ${languages.slice(0, 100).join(', ')}.`,
    )
  }
  const reader = new WyomingReader(server, options, { sampleRateHz, readsAtOnce: segmentsAtOnce })
  await reader.read({ samples: warmUpTone(sampleRateHz), purpose: 'final' }, never)
  return createOfflineEngine({
    reader,
    sampleRateHz,
    words: false,
    maxReadMs,
    partials,
    language,
    ...(languages.length > 0 && { languages }),
    ready: async () => {
      await describe(server)
    },
    scheduler,
  })
}

/**
 * A server of the Wyoming protocol as an engine, such as those of Home Assistant (`wyoming-faster-whisper`). Each
 * segment is an utterance on a connection of its own, or several if it is long.
 *
 * `open` asks the server for its models and languages, and lets it read a second of a tone, so that it has loaded its
 * model. It rejects with `invalid-model` for a model that the server lacks, and with `engine-failed` if the server
 * cannot be reached. Later failures are `engine-failed`.
 *
 * @example
 * const models = createModelRegistry({ folders: ['models'], kinds: [wyoming()] })
 */
export const wyoming = (): EngineKind => ({
  name: 'wyoming',
  lint: readWyomingOptions,
  open: (model) => open(model, asyncScheduler),
})
