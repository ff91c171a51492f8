import { decoderWorkerStarter, workerFile, type StartDecoderWorker } from '../pool/decoder-worker.js'
import type { Engine, EngineKind, ModelDescription } from '../engine.js'
import { openPooledEngine } from '../pool/pooled-engine.js'
import { defaultRateHz, sherpaConfig } from './config.js'
import type { SherpaSettings } from './worker-settings.js'
import { requireSherpa } from './package.js'
import { tryInProcess } from './try-in-process.js'
import { decodeSherpaOptions } from './options.js'

const hopsPerSecond = 10
const defaultSegmentsAtOnce = 16

/** Where a model runs. */
export interface SherpaHost {
  /** Whether it can be loaded at all; rejects with `invalid-model`. */
  readonly check: (model: ModelDescription, settings: SherpaSettings) => Promise<void>
  readonly start: (settings: SherpaSettings) => StartDecoderWorker
}

const thisMachine: SherpaHost = {
  check: tryInProcess,
  start: (settings) => decoderWorkerStarter(settings, workerFile('sherpa-onnx/worker.js')),
}

const openEngine = async (model: ModelDescription, host: SherpaHost): Promise<Engine> => {
  const options = decodeSherpaOptions(model)
  const { sampleRateHz = defaultRateHz, segmentsAtOnce = defaultSegmentsAtOnce } = options
  const config = await sherpaConfig(model, options)
  requireSherpa()
  const settings: SherpaSettings = { type: 'rxspeech-sherpa-onnx', config, sampleRateHz }
  await host.check(model, settings)
  // One thread: the model is in memory once, and its own threads are its option
  const pool = {
    start: host.start(settings),
    workers: 1,
    decodersPerWorker: segmentsAtOnce,
    hopSamples: sampleRateHz / hopsPerSecond,
  }
  return openPooledEngine(model, pool, { sampleRateHz, partials: true, words: false, kind: 'dictation' })
}

/**
 * Streaming models of sherpa-onnx, which the operator brings: dictation for production. The recognizer's calls are
 * synchronous, so it runs in a worker thread; a fault of its native library while it reads can still end the process.
 *
 * `open` looks for every file first, then loads the model in a process of its own: `invalid-model` names the key of the
 * file that is missing, or says that they do not load. Also rejects with `missing-dependency`.
 */
export const sherpaOnnx = (host: SherpaHost = thisMachine): EngineKind => ({
  name: 'sherpa-onnx',
  open: (model) => openEngine(model, host),
})
