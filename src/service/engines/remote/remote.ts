import { EMPTY, firstValueFrom, lastValueFrom } from 'rxjs'
import { isSpeechError, SpeechError } from '../../../errors/speech-error.js'
import { recognize } from '../../../client/recognizer/recognize.js'
import { Shelf } from '../pool/resource-pool.js'
import type { Engine, EngineKind, ModelDescription } from '../engine.js'
import { laneEngine } from '../segment-engine.js'
import { invalidModel, readModelFile } from '../models/model-files.js'
import { decodeRemoteOptions, type RemoteOptions } from './options.js'
import { RemoteSegment, type OpenRecognition } from './remote-segment.js'
import { openRemoteToken, type Environment, type RemoteToken } from './token.js'

const hopsPerSecond = 10
const defaultSegmentsAtOnce = 32

/**
 * The segments are cut here; the other service shall take each as it is: easily triggered, with as much audio about the
 * speech as it allows, no silence within that ends anything (docs/PROTOCOL.md, voice activity).
 */
const asItIs = {
  sensitivity: 10,
  preSpeechBufferMs: 5_000,
  postSpeechBufferMs: 5_000,
  maxSpeechDurationMs: -1,
  silenceTriggerMs: 60_000,
  gracefulSilenceThresholdMs: 0,
}

/** A sentence for the operator, whose file it is, of an error that names an option or a refusal. */
const asInvalidModel = (model: ModelDescription, error: unknown): unknown =>
  isSpeechError(error) && error.code !== 'invalid-model' ? invalidModel(model, error.message, error) : error

const recognitionOf = (options: RemoteOptions, { token$, rejected$ }: RemoteToken, ca?: string): OpenRecognition => {
  const { url, modelName, modelTenant, modelVersion, sampleRateHz } = options
  return recognize({
    url,
    token: token$,
    rejected$,
    modelName,
    ...(modelTenant !== undefined && { modelTenant }),
    ...(modelVersion !== undefined && { modelVersion }),
    ...(ca !== undefined && { ca }),
    format: { encoding: 'pcm', sampleRateHz, channels: 1 },
    voiceActivity: asItIs,
    // A fault is told at once: who drives the engine has kept the segment and reads it once more.
    resumption: false,
    continuous: false,
  })
}

const makeEngine = (options: RemoteOptions, token: RemoteToken, open: OpenRecognition): Engine => {
  const { sampleRateHz, kind = 'dictation', segmentsAtOnce = defaultSegmentsAtOnce } = options
  const places = new Shelf(segmentsAtOnce, () => Promise.resolve({}))
  return laneEngine({
    capabilities: { sampleRateHz, partials: true, words: false, kind, segmentsAtOnce },
    openLane: () => (_startMs, listener) => {
      const taking = places.take()
      const segment = new RemoteSegment(listener, sampleRateHz / hopsPerSecond, () => {
        void taking.then((place) => places.give(place))
      })
      void taking.then(() => segment.start(open))
      return segment
    },
    ready: async () => {
      await firstValueFrom(token.token$).catch((cause: unknown) => {
        throw new SpeechError('engine-failed', 'The remote recognition service gives no token.', { cause })
      })
      // A token that was fetched long ago says nothing of the service: a recognition without audio does.
      await lastValueFrom(open(EMPTY)).catch((cause: unknown) => {
        if (isSpeechError(cause) && cause.code === 'overloaded') return
        throw new SpeechError('engine-failed', 'The remote recognition service takes no recognition.', { cause })
      })
    },
    close: () => Promise.resolve(),
  })
}

export interface RemoteEngineOptions {
  /** The environment variables that `secretFrom` of a model can name. @default process.env */
  readonly env?: Environment | undefined
}

/**
 * Another service of this protocol as an engine: every segment is one recognition there, over our own client and its
 * WebSocket. Segments wait in line beyond `segmentsAtOnce`. Each wait has the client's deadline.
 *
 * `open` gets a first token: it rejects with `invalid-model` whose sentence says what the other service refused. Later
 * failures are `engine-failed`, their cause what the other service said, or `overloaded` where it is; the secret and the
 * token stand in neither.
 */
export const remote = ({ env = process.env }: RemoteEngineOptions = {}): EngineKind => ({
  name: 'remote',
  open: async (model) => {
    const options = decodeRemoteOptions(model)
    try {
      const ca = options.ca === undefined ? undefined : await readModelFile(model, 'ca', options.ca)
      const token = await openRemoteToken(model, options, { ca, env })
      const open = recognitionOf(options, token, ca)
      await firstValueFrom(token.token$)
      return makeEngine(options, token, open)
    } catch (error) {
      throw asInvalidModel(model, error)
    }
  },
})
