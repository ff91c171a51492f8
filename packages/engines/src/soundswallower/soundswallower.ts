import { join } from 'node:path'
import type { TypeOf } from 'io-ts'
import { usableCpus } from '../threads/usable-cpus.js'
import { primaryLanguage } from 'rxspeech/internal/protocol/language'
import { engineParameters } from 'rxspeech/internal/protocol/recognition-parameters'
import { checkOptions, flag, oneOf, optionsCodec, wholeNumber } from 'rxspeech/internal/protocol/validation'
import type { EngineKind, ModelDescription } from '../engine.js'
import { readModelDictionary, readModelGrammar } from '../models/model-files.js'
import { decodeModelOptions, invalidModel, textOption } from '../models/model-json.js'
import { createWorkerStarter, engineWorkerFile, openWorkerEngine } from '../pool/worker-engine.js'
import { addGrammar } from './add.js'
import { decoderRateHz, findSoundswallowerModels } from './package.js'
import { frameSamples } from './segment-decoder.js'
import type { WorkerSettings } from './worker.js'

/** How many threads and decoders the engine runs. */
export interface SoundswallowerLimits {
  /**
   * Threads per model, 1 to 64. Each takes about 15 MB and the memory of its decoders. @default the CPUs, 1 to 4
   */
  readonly workers?: number | undefined
  /**
   * Decoders per thread, 1 to 64, created when needed. Each takes about 30 MB. @default 8, fewer with less than a CPU
   * per thread
   */
  readonly decodersPerWorker?: number | undefined
}

const limitsCodec = optionsCodec(
  {},
  { workers: wholeNumber({ min: 1, max: 64 }), decodersPerWorker: wholeNumber({ min: 1, max: 64 }) },
)

/** Segments that a CPU decodes at the same time and at the pace of speech, with a reserve. */
const segmentsPerCpu = 8

/** The limits of a process that may use this many CPUs, a fraction too. */
export const soundswallowerLimits = (
  cpus: number,
  workers: number = Math.min(Math.max(Math.floor(cpus), 1), 4),
): { readonly workers: number; readonly decodersPerWorker: number } => {
  const decodersPerWorker = Math.floor((segmentsPerCpu * cpus) / workers)
  return { workers, decodersPerWorker: Math.min(Math.max(decodersPerWorker, 1), segmentsPerCpu) }
}

/** `model.json` of this engine. Exactly one of `grammar` and `phrases` is present. */
const modelOptions = optionsCodec(
  { engine: oneOf('soundswallower') },
  {
    // What the audio is meant to have; the engine always decodes 8 kHz.
    sampleRateHz: oneOf(8000, 16_000),
    grammar: textOption('the name of a JSGF file'),
    phrases: textOption('the name of a file with one sentence per line'),
    language: oneOf('en-us', 'fr-fr'),
    reject: engineParameters.reject.codec,
    dictionary: textOption('the name of a file with a word and its phones per line'),
    // Read by the service.
    batch: flag,
  },
)

/** Throws `invalid-model` for a key or a value that `model.json` of this engine cannot have. */
const readSoundswallowerOptions = (model: ModelDescription): TypeOf<typeof modelOptions> => {
  const options = decodeModelOptions(model, modelOptions)
  if ((options.grammar === undefined) === (options.phrases === undefined)) {
    throw invalidModel(model, 'model.json must have either "grammar" or "phrases".')
  }
  if (options.language === 'fr-fr' && options.reject !== undefined && options.reject !== 'off') {
    throw invalidModel(model, '"reject" in model.json needs the language "en-us"; nothing is rejected in French.')
  }
  return options
}

const loadSettings = async (model: ModelDescription, maxDecoders: number): Promise<WorkerSettings> => {
  const { grammar, phrases = '', language = 'en-us', dictionary, reject = 'medium' } = readSoundswallowerOptions(model)
  const { jsgf, words } =
    grammar === undefined
      ? await readModelGrammar(model, 'phrases', phrases)
      : await readModelGrammar(model, 'grammar', grammar)
  return {
    type: 'rxspeech-soundswallower',
    modelBase: findSoundswallowerModels(),
    language,
    grammar: jsgf,
    words,
    dictionary: await readModelDictionary(model, dictionary),
    reject,
    maxDecoders,
  }
}

const capabilities = {
  sampleRateHz: decoderRateHz,
  partials: true,
  words: true,
  kind: 'grammar',
  checks: true,
  phrases: true,
} as const

/**
 * The embedded engine: grammars in English or French, at 8 kHz, decoded in worker threads. `open` resolves when the
 * first worker has loaded the model, and rejects with `invalid-model` or `missing-dependency`. Throws `invalid-options`
 * for limits out of range.
 *
 * @example
 * const models = createModelRegistry({ folders: ['models'], kinds: [soundswallower({ workers: 2 })] })
 */
export const soundswallower = (limits: SoundswallowerLimits = {}): EngineKind => {
  const given = checkOptions(limitsCodec, limits, 'The limits')
  const { workers, decodersPerWorker: fitting } = soundswallowerLimits(usableCpus(), given.workers)
  const { decodersPerWorker = fitting } = given
  return {
    name: 'soundswallower',
    lint: readSoundswallowerOptions,
    presets: { sampleRateHz: decoderRateHz, language: 'en-us' },
    add: addGrammar,
    dictionaryOf: ({ options: { language } }) =>
      join(findSoundswallowerModels(), language === 'fr-fr' ? 'fr-fr' : 'en-us', 'dict.txt'),
    open: async (model) => {
      const settings = await loadSettings(model, decodersPerWorker)
      const start = createWorkerStarter(settings, engineWorkerFile('soundswallower/worker.js'))
      const languages = [primaryLanguage(settings.language)]
      return openWorkerEngine(
        model,
        { start, frameSamples, workers, decodersPerWorker },
        { ...capabilities, languages },
      )
    },
  }
}
