import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { dirname, join, sep } from 'node:path'
import { SpeechError } from '../../../errors/speech-error.js'
import { DecoderPool } from './decoder-pool.js'
import { decoderWorkerStarter } from './decoder-worker.js'
import type { Engine, EngineKind, ModelDescription } from '../engine.js'
import { phraseGrammar, readDictionary, readGrammar, readPhrases, type Pronunciation } from '../grammar.js'
import { laneEngine } from '../lane-engine.js'
import { invalidModel, readModelFile } from '../model-files.js'
import { decoderRateHz, type WorkerSettings } from './soundswallower-messages.js'
import { decodeSoundswallowerOptions, type SoundswallowerOptions } from './soundswallower-options.js'

export interface SoundswallowerLimits {
  /** Threads of one model; the cores but one, 1 to 4, when absent. Each takes about 15 MB and its decoders. */
  readonly workers?: number
  /** Decoders of a thread, about 30 MB each; they are made as they are needed. 8 when absent. */
  readonly decodersPerWorker?: number
}

const defaultWorkers = (): number => Math.min(Math.max(availableParallelism() - 1, 1), 4)

const checkLimit = (name: keyof SoundswallowerLimits, value: number): number => {
  if (Number.isInteger(value) && value >= 1 && value <= 64) return value
  throw new SpeechError('invalid-options', `${name} must be a whole number from 1 to 64, not ${String(value)}.`)
}

/** Where the package keeps its acoustic models, with the trailing slash that it wants. */
const findModelBase = (): string => {
  try {
    return join(dirname(createRequire(__filename).resolve('soundswallower')), 'model') + sep
  } catch (cause) {
    throw new SpeechError('missing-dependency', 'This engine needs a package: npm install soundswallower.', { cause })
  }
}

/** The grammar of the model, checked as far as it can be without the dictionary. */
const loadGrammar = async (model: ModelDescription, { grammar, phrases }: SoundswallowerOptions): Promise<string> => {
  if (grammar !== undefined) return readModelFile(model, 'grammar', grammar)
  const file = phrases ?? ''
  const { sentences, badLine } = readPhrases(await readModelFile(model, 'phrases', file))
  if (badLine !== undefined) {
    throw invalidModel(model, `${file} line ${badLine.number}: ${JSON.stringify(badLine.text)} is no word.`)
  }
  if (sentences.length === 0) throw invalidModel(model, `${file} holds no sentence.`)
  return phraseGrammar(sentences)
}

const loadDictionary = async (model: ModelDescription, file: string | undefined): Promise<readonly Pronunciation[]> => {
  if (file === undefined) return []
  const entries = readDictionary(await readModelFile(model, 'dictionary', file))
  if ('badLine' in entries) throw invalidModel(model, `${file} line ${entries.badLine}: a word has no phones.`)
  return entries
}

const loadSettings = async (model: ModelDescription, maxDecoders: number): Promise<WorkerSettings> => {
  const options = decodeSoundswallowerOptions(model)
  const grammar = await loadGrammar(model, options)
  const { words, undefinedRules, hasPublicRule } = readGrammar(grammar)
  const file = options.grammar ?? options.phrases ?? ''
  if (!hasPublicRule) throw invalidModel(model, `${file} has no public rule; write one as: public <rule> = words;`)
  if (undefinedRules.length > 0) throw invalidModel(model, `${file} does not define <${undefinedRules.join('>, <')}>.`)
  return {
    type: 'rxspeech-soundswallower',
    modelBase: findModelBase(),
    language: options.language ?? 'en-us',
    grammar,
    words,
    dictionary: await loadDictionary(model, options.dictionary),
    maxDecoders,
  }
}

const makeEngine = (pool: DecoderPool): Engine =>
  laneEngine({
    capabilities: {
      sampleRateHz: decoderRateHz,
      partials: true,
      words: true,
      kind: 'grammar',
      segmentsAtOnce: pool.segmentsAtOnce,
    },
    openLane: () => (startMs, listener) => pool.open(startMs, listener),
    ready: () => pool.warm(),
    close: () => pool.close(),
  })

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
      const pool = new DecoderPool({
        start: decoderWorkerStarter(await loadSettings(model, decodersPerWorker)),
        workers,
        decodersPerWorker,
        now: () => performance.now(),
        refuse: (sentence) => invalidModel(model, sentence),
      })
      try {
        await pool.warm()
      } catch (error) {
        await pool.close()
        throw error
      }
      return makeEngine(pool)
    },
  }
}
