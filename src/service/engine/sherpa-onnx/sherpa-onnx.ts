import { createRequire } from 'node:module'
import { SpeechError } from '../../../errors/speech-error.js'
import { DecoderPool } from '../decoder-pool.js'
import { decoderWorkerStarter, workerFile, type StartDecoderWorker } from '../decoder-worker.js'
import type { Engine, EngineKind, ModelDescription } from '../engine.js'
import { laneEngine } from '../lane-engine.js'
import { invalidModel } from '../model-files.js'
import { defaultRateHz, sherpaConfig } from './sherpa-config.js'
import type { SherpaSettings } from './sherpa-messages.js'
import { tryInProcess } from './try-in-process.js'
import { decodeSherpaOptions } from './sherpa-options.js'

const hopsPerSecond = 10
const defaultSegmentsAtOnce = 16

/** Where a model runs. */
export interface SherpaHost {
  /** Whether it can be loaded at all; rejects with `invalid-model`. */
  readonly check: (model: ModelDescription, settings: SherpaSettings) => Promise<void>
  readonly start: (settings: SherpaSettings) => StartDecoderWorker
}

/** The package is there; whether its library loads shows when the worker starts. */
const requirePackage = (): void => {
  try {
    createRequire(__filename).resolve('sherpa-onnx-node')
  } catch (cause) {
    throw new SpeechError('missing-dependency', 'This engine needs a package: npm install sherpa-onnx-node.', { cause })
  }
}

const thisMachine: SherpaHost = {
  check: tryInProcess,
  start: (settings) => decoderWorkerStarter(settings, workerFile('sherpa-onnx/sherpa-worker.js')),
}

const makeEngine = (pool: DecoderPool, sampleRateHz: number): Engine =>
  laneEngine({
    capabilities: {
      sampleRateHz,
      partials: true,
      words: false,
      kind: 'dictation',
      segmentsAtOnce: pool.segmentsAtOnce,
    },
    openLane: () => (startMs, listener) => pool.open(startMs, listener),
    ready: () => pool.warm(),
    busyMs: () => pool.busyMs,
    close: () => pool.close(),
  })

const openEngine = async (model: ModelDescription, host: SherpaHost): Promise<Engine> => {
  const options = decodeSherpaOptions(model)
  const { sampleRateHz = defaultRateHz, segmentsAtOnce = defaultSegmentsAtOnce } = options
  const config = await sherpaConfig(model, options)
  requirePackage()
  const settings: SherpaSettings = { type: 'rxspeech-sherpa-onnx', config, sampleRateHz }
  await host.check(model, settings)
  // One thread: the model is in memory once, and its own threads are its option
  const pool = new DecoderPool({
    start: host.start(settings),
    workers: 1,
    decodersPerWorker: segmentsAtOnce,
    hopSamples: sampleRateHz / hopsPerSecond,
    now: () => performance.now(),
    refuse: (sentence) => invalidModel(model, sentence),
  })
  try {
    await pool.warm()
  } catch (error) {
    await pool.close()
    throw error
  }
  return makeEngine(pool, sampleRateHz)
}

/**
 * Streaming models of sherpa-onnx, which the operator brings: dictation for production. The recogniser's calls are
 * synchronous, so it runs in a worker thread; a fault of its native library while it reads can still end the process.
 *
 * `open` looks for every file first, then loads the model in a process of its own: `invalid-model` names the key of the
 * file that is missing, or says that they do not load. Also rejects with `missing-dependency`.
 */
export const sherpaOnnx = (host: SherpaHost = thisMachine): EngineKind => ({
  name: 'sherpa-onnx',
  open: (model) => openEngine(model, host),
})
