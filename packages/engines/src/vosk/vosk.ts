import { asyncScheduler, firstValueFrom, type SchedulerLike } from 'rxjs'
import type { TypeOf } from 'io-ts'
import { Semaphore } from '../semaphore.js'
import { oneOf, optionsCodec } from 'rxspeech/internal/protocol/validation'
import { dialWebSocket } from 'rxspeech/internal/transport/websocket/client'
import type { Engine, EngineKind, ModelDescription } from '../engine.js'
import { readModelFile } from '../models/model-files.js'
import { decodeModelOptions, textOption } from '../models/model-json.js'
import { environmentOf, readSecret, secretPlace, type Environment, type SecretOptions } from '../models/model-secret.js'
import { serverKeys, serverLost, serverName, serverUrl } from '../recognition-server.js'
import { createSegmentEngine } from '../segment-engine.js'
import { VoskSegment, type VoskServer } from './segment.js'

/** `model.json` of this engine: a server of vosk-server, by its WebSocket. */
const modelOptions = optionsCodec(
  { engine: oneOf('vosk'), url: textOption('the address of a server, such as "ws://127.0.0.1:2700"') },
  {
    ...serverKeys,
    // For a proxy in front of it; it has no keys itself.
    secretFrom: secretPlace,
    kind: oneOf('grammar', 'dictation'),
  },
)

type VoskOptions = TypeOf<typeof modelOptions>

/** Throws `invalid-model` for a key or a value that `model.json` of this engine cannot have. */
const readVoskOptions = (model: ModelDescription): VoskOptions => {
  const options = decodeModelOptions(model, modelOptions)
  voskUrl(model, options)
  return options
}

const voskUrl = (model: ModelDescription, options: VoskOptions): URL =>
  serverUrl(model, options, { plain: 'ws:', secure: 'wss:' })

const framesPerSecond = 10
const connectTimeoutMs = 2_000

const open = async (model: ModelDescription, env: Environment, scheduler: SchedulerLike): Promise<Engine> => {
  const options = readVoskOptions(model)
  const { sampleRateHz = 16_000, segmentsAtOnce = 4, kind = 'dictation' } = options
  const url = voskUrl(model, options)
  const key = options.secretFrom && (await readSecret(model, options.secretFrom, env))
  const ca = options.ca === undefined ? undefined : await readModelFile(model, 'ca', options.ca)
  const headers = key === undefined ? undefined : { authorization: `Bearer ${key}` }
  const link$ = dialWebSocket({ url, ca, headers, connectTimeoutMs, scheduler })
  const server: VoskServer = { name: serverName(model, url), link$, sampleRateHz, scheduler }
  const ready = async (): Promise<void> => {
    await firstValueFrom(link$).catch((error: unknown) => {
      throw serverLost(server.name, error)
    })
  }
  await ready()
  const permits = new Semaphore({ permits: segmentsAtOnce, maxWaiting: Infinity })
  return createSegmentEngine({
    capabilities: { sampleRateHz, partials: true, words: true, kind, segmentsAtOnce },
    openChannel: () => (startMs, listener) => {
      const segment = new VoskSegment(server, startMs, listener, sampleRateHz / framesPerSecond)
      void permits.run(() => segment.run())
      return segment
    },
    ready,
  })
}

/** With the clock of the deadlines. */
export const createVosk = (env: Environment, scheduler: SchedulerLike): EngineKind => ({
  name: 'vosk',
  lint: readVoskOptions,
  open: (model) => open(model, env, scheduler),
})

/**
 * A server of vosk-server as an engine, by its WebSocket: each segment is a stream on a connection of its own, with
 * partials, and words with times and confidences. Segments beyond `segmentsAtOnce` wait in a queue.
 *
 * `open` connects once; it rejects with `engine-failed` if the server cannot be reached. Later failures are
 * `engine-failed` too.
 *
 * @example
 * const models = createModelRegistry({ folders: ['models'], kinds: [vosk()] })
 */
export const vosk = (given: SecretOptions = {}): EngineKind => {
  const env = environmentOf(given)
  return createVosk(env, asyncScheduler)
}
