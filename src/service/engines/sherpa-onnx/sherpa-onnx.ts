import { spawn } from 'node:child_process'
import { sanitizePeerText } from '../../../errors/refusal.js'
import type { EngineKind, ModelDescription } from '../engine.js'
import { invalidModel } from '../models/model-json.js'
import { createWorkerStarter, engineWorkerFile, openWorkerEngine } from '../pool/worker-engine.js'
import type { StartPoolWorker } from '../pool/worker-pool.js'
import { readSherpaModel } from './model.js'
import { requireSherpa, type SherpaSettings } from './package.js'

const framesPerSecond = 10

/** A large model takes a while to load from a slow disk. */
const tryWithinMs = 120_000
const maxReportLength = 4_096

/**
 * Loads the model in a process of its own: files that are not models, or do not belong together, make the native library
 * end its process, which must not be the service. Rejects with `invalid-model`; the output of the library is the cause.
 */
const tryInProcess = (model: ModelDescription, settings: SherpaSettings): Promise<void> =>
  new Promise((resolve, reject) => {
    const file = engineWorkerFile('sherpa-onnx/trial.js')
    const child = spawn(process.execPath, [file], { stdio: ['pipe', 'ignore', 'pipe'], timeout: tryWithinMs })
    let report = ''
    const refuse = (): void => {
      const sentence = 'sherpa-onnx does not load its files; check that they are whole and belong together.'
      reject(invalidModel(model, sentence, new Error(sanitizePeerText(report))))
    }
    child.stderr.setEncoding('utf8').on('data', (text: string) => (report = (report + text).slice(-maxReportLength)))
    // The process may end before it has read its settings.
    child.stdin.on('error', () => undefined)
    child.once('error', refuse)
    child.once('close', (code) => (code === 0 ? resolve() : refuse()))
    child.stdin.end(JSON.stringify(settings))
  })

/** Where a model runs. */
export interface SherpaHost {
  /** Rejects with `invalid-model` if the model cannot be loaded. */
  readonly check: (model: ModelDescription, settings: SherpaSettings) => Promise<void>
  readonly start: (settings: SherpaSettings) => StartPoolWorker
}

const workerHost: SherpaHost = {
  check: tryInProcess,
  start: (settings) => createWorkerStarter(settings, engineWorkerFile('sherpa-onnx/worker.js')),
}

export const createSherpaOnnx = (host: SherpaHost): EngineKind => ({
  name: 'sherpa-onnx',
  open: async (model) => {
    const { config, sampleRateHz, segmentsAtOnce } = await readSherpaModel(model)
    requireSherpa()
    const settings: SherpaSettings = { type: 'rxspeech-sherpa-onnx', config, sampleRateHz }
    await host.check(model, settings)
    // One worker: the model is in memory once, and the recognizer has its own threads.
    const pool = {
      start: host.start(settings),
      workers: 1,
      decodersPerWorker: segmentsAtOnce,
      frameSamples: sampleRateHz / framesPerSecond,
    }
    return openWorkerEngine(model, pool, { sampleRateHz, partials: true, words: false, kind: 'dictation' })
  },
})

/**
 * Streaming models of sherpa-onnx, which the operator provides: dictation for production. The calls of the recognizer are
 * synchronous, so it runs in a worker thread; a crash of its native library during decoding still ends the process.
 *
 * `open` finds every file, then loads the model in a process of its own: it rejects with `invalid-model` that names the key of
 * a missing file or says that the files do not load, and with `missing-dependency`.
 *
 * @example
 * const models = createModelRegistry({ folders: ['models'], kinds: [sherpaOnnx()] })
 */
export const sherpaOnnx = (): EngineKind => createSherpaOnnx(workerHost)
