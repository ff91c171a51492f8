import { availableParallelism } from 'node:os'
import { SpeechError } from '../../../errors/speech-error.js'
import { decoderWorkerStarter, workerFile } from '../pool/decoder-worker.js'
import type { EngineKind, ModelDescription } from '../engine.js'
import { loadDictionary, loadGrammar } from '../models/grammar-file.js'
import { openPooledEngine } from '../pool/pooled-engine.js'
import { findSoundswallowerModels } from './soundswallower-models.js'
import { decoderRateHz, hopSamples, type WorkerSettings } from './worker-settings.js'
import { decodeSoundswallowerOptions } from './options.js'

export interface SoundswallowerLimits {
  /** Threads of one model; the cores but one, 1 to 4, when absent. Each takes about 15 MB and its decoders. */
  readonly workers?: number
  /** Decoders of a thread, about 30 MB each; they are made as they are needed. 8 when absent. */
  readonly decodersPerWorker?: number
}

/** Beside this folder, as `workerFile` looks for it. */
const soundswallowerWorker = 'soundswallower/worker.js'

const defaultWorkers = (): number => Math.min(Math.max(availableParallelism() - 1, 1), 4)

const checkLimit = (name: keyof SoundswallowerLimits, value: number): number => {
  if (Number.isInteger(value) && value >= 1 && value <= 64) return value
  throw new SpeechError('invalid-options', `${name} must be a whole number from 1 to 64, not ${String(value)}.`)
}

const loadSettings = async (model: ModelDescription, maxDecoders: number): Promise<WorkerSettings> => {
  const options = decodeSoundswallowerOptions(model)
  const { grammar, phrases = '', language = 'en-us', dictionary } = options
  const { jsgf, words } =
    grammar === undefined ? await loadGrammar(model, 'phrases', phrases) : await loadGrammar(model, 'grammar', grammar)
  return {
    type: 'rxspeech-soundswallower',
    modelBase: findSoundswallowerModels(),
    language,
    grammar: jsgf,
    words,
    dictionary: await loadDictionary(model, dictionary),
    maxDecoders,
  }
}

const capabilities = { sampleRateHz: decoderRateHz, partials: true, words: true, kind: 'grammar' } as const

/**
 * The embedded engine: grammars in English or French, at 8 kHz, decoded in worker threads. `open` resolves when the
 * first worker has taken the model, so a word that the dictionary lacks is refused then, by name.
 * Errors: `invalid-model`, `missing-dependency`; throws `invalid-options` for limits out of range.
 */
export const soundswallower = (limits: SoundswallowerLimits = {}): EngineKind => {
  const workers = checkLimit('workers', limits.workers ?? defaultWorkers())
  const decodersPerWorker = checkLimit('decodersPerWorker', limits.decodersPerWorker ?? 8)
  return {
    name: 'soundswallower',
    open: async (model) => {
      const settings = await loadSettings(model, decodersPerWorker)
      const start = decoderWorkerStarter(settings, workerFile(soundswallowerWorker))
      return openPooledEngine(model, { start, hopSamples, workers, decodersPerWorker }, capabilities)
    },
  }
}
