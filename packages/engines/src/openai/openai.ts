import { asyncScheduler, type SchedulerLike } from 'rxjs'
import type { TypeOf } from 'io-ts'
import { isSpeechError } from 'rxspeech/internal/errors/speech-error'
import { recordOf } from 'rxspeech/internal/protocol/collections'
import { primaryLanguage } from 'rxspeech/internal/protocol/language'
import { flag, oneOf, optionsCodec, text } from 'rxspeech/internal/protocol/validation'
import type { EngineKind, ModelDescription } from '../engine.js'
import { readModelFile } from '../models/model-files.js'
import { decodeModelOptions, invalidModel, textOption } from '../models/model-json.js'
import { environmentOf, readSecret, secretPlace, type Environment, type SecretOptions } from '../models/model-secret.js'
import { createOfflineEngine, partialsOption } from '../offline/offline-engine.js'
import { languageKeys, serverKeys, serverName, serverUrl, warmUpTone } from '../recognition-server.js'
import { TranscriptionReader } from './reader.js'
import { TranscriptionClient } from './request.js'

/** `model.json` of this engine: a server with `/v1/audio/transcriptions`. */
const modelOptions = optionsCodec(
  { engine: oneOf('openai'), url: textOption('the address of a server, such as "http://127.0.0.1:8000"') },
  {
    ...serverKeys,
    ...languageKeys,
    secretFrom: secretPlace,
    model: textOption('the name of a model there'),
    // Further fields of its form.
    fields: recordOf(text, { maxLength: 50 }),
    // The field for the phrases of a session.
    phrases: oneOf('prompt', 'hotwords'),
    audioContext: flag,
    partials: partialsOption,
  },
)

type OpenAiOptions = TypeOf<typeof modelOptions>

/** Throws `invalid-model` for a key or a value that `model.json` of this engine cannot have. */
const readOpenAiOptions = (model: ModelDescription): OpenAiOptions => {
  const options = decodeModelOptions(model, modelOptions)
  transcriptionUrl(model, options)
  return options
}

/**
 * An address without a path, or with the `/v1` that clients of such servers are configured with, gets the usual path.
 */
const transcriptionUrl = (model: ModelDescription, options: OpenAiOptions): URL => {
  const url = serverUrl(model, options, { plain: 'http:', secure: 'https:' })
  if (/^\/(v1\/?)?$/.test(url.pathname)) url.pathname = '/v1/audio/transcriptions'
  return url
}

/** The longest audio of one request, below the window of whisper models, at whose end they invent text. */
const maxReadMs = 20_000

const open = async (model: ModelDescription, env: Environment, scheduler: SchedulerLike) => {
  const options = readOpenAiOptions(model)
  const { sampleRateHz = 16_000, segmentsAtOnce = 2, partials, language, languages, phrases } = options
  const url = transcriptionUrl(model, options)
  const name = serverName(model, url)
  const key = options.secretFrom && (await readSecret(model, options.secretFrom, env))
  const ca = options.ca === undefined ? undefined : await readModelFile(model, 'ca', options.ca)
  const client = new TranscriptionClient({ url, name, key, ca, sampleRateHz, scheduler })
  const reader = new TranscriptionReader(client, name, options, {
    sampleRateHz,
    readsAtOnce: segmentsAtOnce,
    scheduler,
  })
  try {
    await reader.read({ samples: warmUpTone(sampleRateHz), purpose: 'final' }, new AbortController().signal)
  } catch (error) {
    await reader.close()
    // What it refuses now, it refuses because of model.json.
    throw isSpeechError(error) && !error.retryable && isSpeechError(error.cause)
      ? invalidModel(model, `${error.cause.message}; check "url", "model", "secretFrom" and "fields".`, error)
      : error
  }
  return createOfflineEngine({
    reader,
    sampleRateHz,
    words: false,
    maxReadMs,
    partials,
    language,
    languages: languages?.map(primaryLanguage),
    phrases: phrases !== undefined,
    ready: () => reader.ready(),
    scheduler,
  })
}

/**
 * A server with the transcription request of OpenAI (`POST /v1/audio/transcriptions`) as an engine, of which there are
 * many for one's own machine: speaches, whisper.cpp, vLLM, LocalAI and others. Each segment is one request, or several
 * if it is long; an open segment is sent again for partials, as often as the server is fast.
 *
 * `open` lets the server read a second of a tone, so that it has loaded its model; it rejects with `invalid-model` for
 * what the server refuses, and with `engine-failed` if it cannot be reached. Later failures are `engine-failed` or
 * `overloaded`. No error contains the key or spoken text.
 *
 * @example
 * const models = createModelRegistry({ folders: ['models'], kinds: [openai({ env: process.env })] })
 */
export const openai = (given: SecretOptions = {}): EngineKind => {
  const env = environmentOf(given)
  return { name: 'openai', lint: readOpenAiOptions, open: (model) => open(model, env, asyncScheduler) }
}
