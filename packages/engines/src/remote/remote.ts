import { EMPTY, firstValueFrom, lastValueFrom, Subject, type Observable } from 'rxjs'
import type { TypeOf } from 'io-ts'
import { keepFresh } from 'rxspeech/internal/auth/keep-fresh'
import { nodeFetch } from 'rxspeech/internal/auth/node-fetch'
import { requestToken } from 'rxspeech/internal/auth/request-token'
import { recognize } from 'rxspeech/internal/client/recognizer/recognize'
import { isSpeechError, SpeechError } from 'rxspeech/internal/errors/speech-error'
import { Semaphore } from '../semaphore.js'
import { listOf } from 'rxspeech/internal/protocol/collections'
import { languageTag, primaryLanguage } from 'rxspeech/internal/protocol/language'
import type { Token } from 'rxspeech/internal/protocol/token'
import { flag, oneOf, optionsCodec, wholeNumber } from 'rxspeech/internal/protocol/validation'
import type { Engine, EngineKind, ModelDescription, RecognizeSettings } from '../engine.js'
import { readModelFile } from '../models/model-files.js'
import { decodeModelOptions, invalidModel, textOption } from '../models/model-json.js'
import { environmentOf, readSecret, secretPlace, type Environment, type SecretOptions } from '../models/model-secret.js'
import { createSegmentEngine } from '../segment-engine.js'
import { RemoteSegment, type OpenRecognition } from './segment.js'

/** `model.json` of this engine: another service of this protocol, and a model of it. */
const modelOptions = optionsCodec(
  {
    engine: oneOf('remote'),
    url: textOption('the address of a service, such as "wss://speech.example.com"'),
    authUrl: textOption('the base address of its token endpoint'),
    clientId: textOption('the client id of a registration there'),
    secretFrom: secretPlace,
    modelName: textOption('the name of a model there'),
    // The rate of the model there, in Hz.
    sampleRateHz: oneOf(8000, 16_000),
  },
  {
    modelTenant: textOption('the tenant of that model'),
    modelVersion: textOption('a version of that model'),
    ca: textOption('the name of a PEM file'),
    kind: oneOf('grammar', 'dictation'),
    // The languages there, of which a session may choose one.
    languages: listOf(languageTag),
    // Each segment takes a connection.
    segmentsAtOnce: wholeNumber({ min: 1, max: 1000 }),
    // Read by the service.
    batch: flag,
  },
)

type RemoteOptions = TypeOf<typeof modelOptions>

/** Throws `invalid-model` for a key or a value that `model.json` of this engine cannot have. */
const readRemoteOptions = (model: ModelDescription): RemoteOptions => decodeModelOptions(model, modelOptions)

const framesPerSecond = 10

/**
 * Segments are cut here, and the other service is to take each as it is: it detects speech easily, includes as much
 * audio around speech as possible, and no silence in a segment ends anything (PROTOCOL 7).
 */
const wholeSegments = {
  sensitivity: 10,
  preSpeechBufferMs: 5_000,
  postSpeechBufferMs: 5_000,
  maxSpeechDurationMs: -1,
  silenceTriggerMs: 60_000,
  completeSilenceMs: 0,
  gracefulSilenceThresholdMs: 0,
}

/** The connection to the other service: one token for all segments, kept fresh, and a recognition for each. */
interface RemoteService {
  readonly token$: Observable<Token>
  readonly recognitionOf: (settings: RecognizeSettings) => OpenRecognition
}

/** Rejects with `invalid-model`, or with `invalid-options` for an address. Requests nothing yet. */
const connect = async (model: ModelDescription, options: RemoteOptions, env: Environment): Promise<RemoteService> => {
  const { url, authUrl, clientId, modelName, modelTenant, modelVersion, sampleRateHz } = options
  const ca = options.ca === undefined ? undefined : await readModelFile(model, 'ca', options.ca)
  const clientSecret = await readSecret(model, options.secretFrom, env)
  const rejected$ = new Subject<Pick<Token, 'accessToken'>>()
  const fetch = nodeFetch({ ca })
  const token$ = requestToken({ authUrl, clientId, clientSecret, fetch }).pipe(keepFresh({ rejected$ }))
  const recognitionOf = ({ reject, language }: RecognizeSettings): OpenRecognition =>
    recognize({
      url,
      token: token$,
      rejected$,
      model: modelName,
      tenant: modelTenant,
      modelVersion,
      connection: { ca },
      format: { encoding: 'pcm', sampleRateHz, channels: 1 },
      voiceActivity: wholeSegments,
      reject,
      language,
      // A lost connection fails the segment at once: the retry around the engine has its audio.
      resumption: false,
      continuous: false,
    })
  // Refuses an address that is wrong.
  recognitionOf({})
  return { token$, recognitionOf }
}

const createEngine = (options: RemoteOptions, { token$, recognitionOf }: RemoteService): Engine => {
  const { sampleRateHz, kind = 'dictation', languages, segmentsAtOnce = 32 } = options
  const permits = new Semaphore({ permits: segmentsAtOnce, maxWaiting: Infinity })
  return createSegmentEngine({
    capabilities: {
      sampleRateHz,
      partials: true,
      words: true,
      kind,
      languages: languages?.map(primaryLanguage),
      segmentsAtOnce,
    },
    openChannel: (settings) => {
      const openRecognition = recognitionOf(settings)
      return (startMs, listener) => {
        const segment = new RemoteSegment(startMs, listener, sampleRateHz / framesPerSecond)
        void permits.run(() => segment.run(openRecognition))
        return segment
      }
    },
    ready: async () => {
      await firstValueFrom(token$).catch((cause: unknown) => {
        throw new SpeechError('engine-failed', 'The remote recognition service gives no token.', { cause })
      })
      // A token may be old and prove nothing about the service now; a recognition without audio does.
      await lastValueFrom(recognitionOf({})(EMPTY)).catch((cause: unknown) => {
        if (isSpeechError(cause) && cause.code === 'overloaded') return
        throw new SpeechError('engine-failed', 'The remote recognition service takes no recognition.', { cause })
      })
    },
  })
}

/** Errors of the other service become errors of the model, for the operator. */
const asInvalidModel = (model: ModelDescription, error: unknown): unknown =>
  isSpeechError(error) && error.code !== 'invalid-model' ? invalidModel(model, error.message, error) : error

/**
 * Another service of this protocol as an engine: every segment is one recognition there, on a WebSocket of its own.
 * Segments beyond `segmentsAtOnce` wait in a queue.
 *
 * `open` requests a first token; it rejects with `invalid-model` and the reason of the other service. Later failures
 * are `engine-failed` or `overloaded`, with its error as their cause. No error contains the secret or the token.
 *
 * @example
 * const models = createModelRegistry({ folders: ['models'], kinds: [remote({ env: { ACME_SECRET: clientSecret } })] })
 */
export const remote = (given: SecretOptions = {}): EngineKind => {
  const env = environmentOf(given)
  return {
    name: 'remote',
    lint: readRemoteOptions,
    open: async (model) => {
      const options = readRemoteOptions(model)
      try {
        const service = await connect(model, options, env)
        await firstValueFrom(service.token$)
        return createEngine(options, service)
      } catch (error) {
        throw asInvalidModel(model, error)
      }
    },
  }
}
