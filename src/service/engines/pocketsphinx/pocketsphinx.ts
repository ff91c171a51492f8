import { availableParallelism } from 'node:os'
import { SpeechError } from '../../../errors/speech-error.js'
import type { Engine, EngineKind } from '../engine.js'
import { laneEngine } from '../segment-engine.js'
import { makeSphinxDecoder } from './decoder-maker.js'
import { loadSphinxLibrary } from './native-library.js'
import { acousticRateHz } from './options.js'
import type { SphinxLibrary } from './library.js'
import { readSphinxModel, type SphinxModel } from './model.js'
import { SphinxPool } from './decoder-pool.js'
import { ThreadTime, timedLibrary } from './thread-time.js'

export interface PocketsphinxLimits {
  /**
   * Segments of one model that are decoded at once, each by a decoder of about 96 MB; they are made as they are needed.
   * Twice the cores, 2 to 8, when absent: a core decodes about four segments at the pace of speech.
   */
  readonly decoders?: number
}

const defaultDecoders = (): number => Math.min(Math.max(2 * availableParallelism(), 2), 8)

const checkDecoders = (value: number): number => {
  if (Number.isInteger(value) && value >= 1 && value <= 64) return value
  throw new SpeechError('invalid-options', `decoders must be a whole number from 1 to 64, not ${String(value)}.`)
}

const makeEngine = (
  pool: SphinxPool,
  time: ThreadTime,
  { acousticModel, search }: SphinxModel,
  segmentsAtOnce: number,
): Engine =>
  laneEngine({
    capabilities: {
      sampleRateHz: acousticRateHz[acousticModel],
      partials: true,
      words: true,
      kind: search.type === 'grammar' ? 'grammar' : 'dictation',
      segmentsAtOnce,
    },
    openLane: () => (startMs, listener) => pool.open(startMs, listener),
    ready: () => Promise.resolve(),
    busyMs: () => time.workedMs,
    close: () => pool.close(),
  })

/** The engine `pocketsphinx` over a library that `load` gives. */
export const pocketsphinxOver = (load: () => Promise<SphinxLibrary>, limits: PocketsphinxLimits = {}): EngineKind => {
  const decoders = checkDecoders(limits.decoders ?? defaultDecoders())
  return {
    name: 'pocketsphinx',
    open: async (description) => {
      const model = await readSphinxModel(description)
      const time = new ThreadTime(availableParallelism(), () => performance.now())
      const library = timedLibrary(await load(), time)
      const make = () => makeSphinxDecoder(library, description, model)
      const pool = new SphinxPool(decoders, acousticRateHz[model.acousticModel], make)
      await pool.warm()
      return makeEngine(pool, time, model, decoders)
    },
  }
}

/**
 * Dictation in English, and grammars, by libpocketsphinx and the models that Debian packages; nothing of it is loaded
 * before a model asks for it. It runs in this process, its calls in koffi's threads. `open` resolves when the first
 * decoder has taken the model. Errors: `invalid-model`, and `missing-dependency` that names the command that installs
 * what is absent; throws `invalid-options` for limits out of range.
 */
export const pocketsphinx = (limits: PocketsphinxLimits = {}): EngineKind => pocketsphinxOver(loadSphinxLibrary, limits)
