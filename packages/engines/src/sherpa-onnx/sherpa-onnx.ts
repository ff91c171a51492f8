import { constrainedMemory } from 'node:process'
import { constants, totalmem } from 'node:os'
import { loadOptional } from '../threads/load-optional.js'
import { usableCpus } from '../threads/usable-cpus.js'
import type { Engine, EngineKind, ModelDescription } from '../engine.js'
import { createOfflineEngine } from '../offline/offline-engine.js'
import { createProcessStarter, engineWorkerFile, openWorkerEngine, openWorkerPool } from '../pool/worker-engine.js'
import type { StartPoolWorker } from '../pool/worker-pool.js'
import { addFolder } from './add.js'
import { readSherpaModel, type SherpaPlan } from './model.js'
import { readSherpaOptions } from './model-options.js'
import { requireSherpa, sherpaRefusal, type SherpaSettings } from './package.js'
import { createPoolReader } from './reader.js'

const framesPerSecond = 10

/** A large model takes a while to load from a slow disk. */
const startWithinMs = 120_000
/** A reading of the longest segment by a large model on a busy machine. */
const readWithinMs = 60_000

/** Starts the worker that runs a model. */
export type SherpaHost = (settings: SherpaSettings) => StartPoolWorker

export const inProcesses: SherpaHost = (settings) => createProcessStarter(settings, workerFile(), sherpaRefusal)

/** Processes that use only the CPU that no other process uses. */
export const inSpareProcesses: SherpaHost = (settings) =>
  createProcessStarter(settings, workerFile(), sherpaRefusal, constants.priority.PRIORITY_LOW)

const workerFile = (): string => engineWorkerFile('sherpa-onnx/worker.js')

/** How much memory all processes of this machine, or of its container, have. */
const usableMemory = (): number => Math.min(totalmem(), constrainedMemory() || Infinity)

const openStreaming = (model: ModelDescription, plan: SherpaPlan, start: StartPoolWorker): Promise<Engine> => {
  const { sampleRateHz } = plan.settings
  // One worker: the model is in memory once, and the recognizer has its own threads.
  const pool = {
    start,
    startWithinMs,
    workers: 1,
    decodersPerWorker: plan.segmentsAtOnce,
    frameSamples: sampleRateHz / framesPerSecond,
  }
  return openWorkerEngine(model, pool, {
    sampleRateHz,
    partials: true,
    words: plan.hasTimes,
    kind: 'dictation',
    languages: plan.languages,
  })
}

/** Longer audio is read in parts: its partials would cost more than they show, and whisper stops early more often. */
const maxReadSeconds = 20

const openOffline = async (model: ModelDescription, plan: SherpaPlan, start: StartPoolWorker): Promise<Engine> => {
  const { sampleRateHz, language } = plan.settings
  const pool = await openWorkerPool(model, {
    start,
    startWithinMs,
    answerWithinMs: readWithinMs,
    workers: plan.processes,
    decodersPerWorker: 1,
    frameSamples: sampleRateHz,
  })
  const reader = createPoolReader(pool, sampleRateHz, plan.hasTimes)
  return createOfflineEngine({
    reader,
    sampleRateHz,
    words: plan.hasTimes,
    maxReadMs: Math.min(plan.type.maxSeconds ?? maxReadSeconds, maxReadSeconds) * 1000,
    partials: plan.partials,
    language,
    languages: plan.languages,
    phrases: plan.takesPhrases,
    ready: () => reader.ready(),
    checkPhrases: (phrases) => reader.checkPhrases(phrases),
  })
}

/**
 * @param cpus how many CPUs it may use, a fraction too
 * @param memoryBytes how much memory there is for all processes
 */
export const createSherpaOnnx = (
  host: SherpaHost,
  cpus: number = usableCpus(),
  memoryBytes: number = usableMemory(),
): EngineKind => ({
  name: 'sherpa-onnx',
  lint: readSherpaOptions,
  add: addFolder,
  withoutPartials: { partials: 'off' },
  requirements: { 'sherpa-onnx-node': () => loadOptional('sherpa-onnx-node', 'The engine sherpa-onnx', __filename) },
  open: async (model) => {
    const plan = await readSherpaModel(model, cpus, memoryBytes)
    requireSherpa()
    const start = host(plan.settings)
    return plan.type.streaming ? openStreaming(model, plan, start) : openOffline(model, plan, start)
  },
})

/**
 * Models of sherpa-onnx, streaming ones and those that read a segment as a whole: any speech, in the languages of the
 * model. The recognizers run in processes of their own, because the native library ends its process when files are
 * wrong or decoding fails: then another process is started, and the segments that it had are read again.
 *
 * `open` finds every file, looks into it, then loads the model and decodes some silence: it rejects with
 * `invalid-model` that names the key of a missing file or reports that the files do not load, and with
 * `missing-dependency`.
 *
 * @example
 * const models = createModelRegistry({ folders: ['models'], kinds: [sherpaOnnx()] })
 */
export const sherpaOnnx = (): EngineKind => createSherpaOnnx(inProcesses)
