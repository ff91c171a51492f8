import { usableCpus } from '../../threads/usable-cpus.js'
import type { EngineKind } from '../engine.js'
import { createProcessStarter, engineWorkerFile, openWorkerEngine } from '../pool/worker-engine.js'
import type { StartPoolWorker } from '../pool/worker-pool.js'
import { readSherpaModel } from './model.js'
import { requireSherpa, type SherpaSettings } from './package.js'

const framesPerSecond = 10

/** A large model takes a while to load from a slow disk. */
const startWithinMs = 120_000

/** Starts the worker that runs a model. */
export type SherpaHost = (settings: SherpaSettings) => StartPoolWorker

export const inProcesses: SherpaHost = (settings) => {
  const refusal = 'sherpa-onnx does not load its files; check that they are whole and belong together.'
  return createProcessStarter(settings, engineWorkerFile('sherpa-onnx/worker.js'), refusal)
}

/** @param cpus how many CPUs it may use, a fraction too */
export const createSherpaOnnx = (host: SherpaHost, cpus: number = usableCpus()): EngineKind => ({
  name: 'sherpa-onnx',
  open: async (model) => {
    const { config, sampleRateHz, segmentsAtOnce } = await readSherpaModel(model, cpus)
    requireSherpa()
    const settings: SherpaSettings = { type: 'rxspeech-sherpa-onnx', config, sampleRateHz }
    // One worker: the model is in memory once, and the recognizer has its own threads.
    const pool = {
      start: host(settings),
      startWithinMs,
      workers: 1,
      decodersPerWorker: segmentsAtOnce,
      frameSamples: sampleRateHz / framesPerSecond,
    }
    return openWorkerEngine(model, pool, { sampleRateHz, partials: true, words: false, kind: 'dictation' })
  },
})

/**
 * Streaming models of sherpa-onnx, which the operator provides: dictation for production. The recognizer runs in a process of
 * its own, because its native library ends its process when files are wrong or decoding fails: then another process is
 * started, and the segments that it had are read again.
 *
 * `open` finds every file, then loads the model and decodes a second of silence: it rejects with `invalid-model` that names
 * the key of a missing file or says that the files do not load, and with `missing-dependency`.
 *
 * @example
 * const models = createModelRegistry({ folders: ['models'], kinds: [sherpaOnnx()] })
 */
export const sherpaOnnx = (): EngineKind => createSherpaOnnx(inProcesses)
