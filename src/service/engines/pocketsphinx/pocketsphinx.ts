import { availableParallelism } from 'node:os'
import { checkOptions, optionsCodec, wholeNumber } from '../../../protocol/validation.js'
import type { EngineKind, OpenSegment } from '../engine.js'
import { withSlots } from '../decoded-words.js'
import { createSlotReader, type SlotReader } from '../models/slots.js'
import { FrameCutter } from '../frame-cutter.js'
import { LeasedSegment } from '../pool/leased-segment.js'
import { ResourcePool } from '../pool/resource-pool.js'
import { engineFailed } from '../pool/worker-pool.js'
import { createSegmentEngine } from '../segment-engine.js'
import { createSphinxDecoder, type SphinxDecoder } from './decoder.js'
import { ThreadTime, timedLibrary, type SphinxLibrary } from './library.js'
import { acousticRateHz, readSphinxModel } from './model.js'
import { loadNativeLibrary } from './native-library.js'

/** How many decoders the engine runs. */
export interface PocketsphinxLimits {
  /**
   * Segments of one model that are decoded at the same time, 1 to 64, each by a decoder of about 96 MB, created when needed.
   * A core decodes about four segments at the pace of speech. @default twice the cores, 2 to 8
   */
  readonly decoders?: number | undefined
}

const limitsCodec = optionsCodec({}, { decoders: wholeNumber({ min: 1, max: 64 }) })

/** The decoders of a process that may use this many cores. */
export const pocketsphinxDecoders = (cores: number): number => Math.min(Math.max(Math.floor(2 * cores), 2), 8)

const frameMs = 100

/** Each segment has a separate decoder; further segments wait for one. */
const openSegments =
  (decoders: ResourcePool<SphinxDecoder>, sampleRateHz: number, readSlots: SlotReader | undefined): OpenSegment =>
  (startMs, listener) => {
    const segment = new LeasedSegment(startMs, decoders, {
      ...listener,
      decided: ({ words, text }) => listener.decided(words, withSlots(words, text, readSlots)),
      failed: (error) => listener.failed(engineFailed(error)),
    })
    const cutter = new FrameCutter((sampleRateHz * frameMs) / 1000, (frame) => segment.write(frame.slice()))
    return {
      write: (samples) => cutter.write(samples),
      close: (endMs, isCut) => {
        cutter.flush()
        segment.close(endMs, isCut)
      },
      abort: () => segment.abort(),
    }
  }

/** The engine `pocketsphinx` with a library that `load` returns. */
export const createPocketsphinx = (load: () => Promise<SphinxLibrary>, limits: PocketsphinxLimits = {}): EngineKind => {
  const { decoders: max = pocketsphinxDecoders(availableParallelism()) } = checkOptions(
    limitsCodec,
    limits,
    'The limits',
  )
  return {
    name: 'pocketsphinx',
    open: async (description) => {
      const model = await readSphinxModel(description)
      const time = new ThreadTime(availableParallelism(), () => performance.now())
      const library = timedLibrary(await load(), time)
      const decoders = new ResourcePool<SphinxDecoder>({
        max,
        create: () => createSphinxDecoder(library, description, model),
        destroy: (decoder) => decoder.free(),
      })
      // The first decoder shows what is wrong with the model.
      decoders.release(await decoders.acquire())
      const sampleRateHz = acousticRateHz[model.acousticModel]
      const { search } = model
      const readSlots = search.type === 'grammar' ? createSlotReader(search.grammar.jsgf) : undefined
      const openSegment = openSegments(decoders, sampleRateHz, readSlots)
      return createSegmentEngine({
        capabilities: {
          sampleRateHz,
          partials: true,
          words: true,
          kind: search.type === 'grammar' ? 'grammar' : 'dictation',
          segmentsAtOnce: max,
        },
        openChannel: () => openSegment,
        busyMs: () => time.workedMs,
        close: () => decoders.close(),
      })
    },
  }
}

/**
 * Dictation in English, and grammars, by libpocketsphinx and the models that Debian packages, which are loaded when a model
 * needs them. It runs in this process, its calls in koffi's threads. `open` resolves when the first decoder has loaded the
 * model; it rejects with `invalid-model`, and with `missing-dependency` that names what to install.
 * Throws `invalid-options` for limits out of range.
 *
 * @example
 * const models = createModelRegistry({ folders: ['models'], kinds: [pocketsphinx({ decoders: 4 })] })
 */
export const pocketsphinx = (limits: PocketsphinxLimits = {}): EngineKind =>
  createPocketsphinx(loadNativeLibrary, limits)
