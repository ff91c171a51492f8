import { asyncScheduler, type SchedulerLike } from 'rxjs'
import { listOf } from 'rxspeech/internal/protocol/collections'
import {
  checkOptions,
  codec,
  type Codec,
  eitherOf,
  flag,
  functionValue,
  nonEmptyText,
  oneOf,
  optionsOf,
  schedulerValue,
  wholeNumber,
} from 'rxspeech/internal/protocol/validation'
import type { Engine, OpenSegment, RecognizeSettings } from '../engine.js'
import { createSegmentEngine } from '../segment-engine.js'
import { OfflineSegment, type ReadPlan } from './offline-segment.js'
import { ReadQueue } from './read-queue.js'
import type { Reader } from './reader.js'

/**
 * How often an open segment is read for a partial: `auto` for every 700 ms and more rarely as its readings take longer,
 * a number for at least that many milliseconds in place of 700, `off` for never. Under load they become rarer, and end.
 */
export type PartialsOption = 'auto' | 'off' | number

/** The key `partials` of `model.json`. */
export const partialsOption: Codec<PartialsOption> = eitherOf(
  oneOf('auto', 'off'),
  wholeNumber({ min: 100, max: 60_000, unit: 'milliseconds' }),
)

/** The parts of an engine that reads segments as a whole. */
export interface OfflineEngineOptions {
  /** Reads the audio. The engine closes it. */
  readonly reader: Reader
  /** The rate of the audio that the reader takes, in Hz. */
  readonly sampleRateHz: number
  /** Whether the reader returns the times of words. */
  readonly words: boolean
  /**
   * The longest audio that the reader reads well, in milliseconds, with its context; longer segments are read in
   * several parts.
   */
  readonly maxReadMs: number
  /** @default 'auto' */
  readonly partials?: PartialsOption | undefined
  /**
   * ISO 639-1, such as `en`: the language of sessions that name none. @default that of the model, or the language that
   * it detects
   */
  readonly language?: string | undefined
  /** See `EngineCapabilities`. @default none: sessions with a language are refused */
  readonly languages?: readonly string[] | undefined
  /** See `EngineCapabilities`. @default false */
  readonly phrases?: boolean | undefined
  /** See `EngineCapabilities`. @default 16 for each reading at once */
  readonly segmentsAtOnce?: number | undefined
  /** See `Engine.ready`. @default always */
  readonly ready?: Engine['ready'] | undefined
  /** See `Engine.checkPhrases`. @default every phrase is taken */
  readonly checkPhrases?: Engine['checkPhrases'] | undefined
  /** @default asyncScheduler */
  readonly scheduler?: SchedulerLike | undefined
}

const readerValue: Codec<Reader> = codec('an object with read and close', (value): value is Reader => {
  const { read, close } = (value ?? {}) as Partial<Reader>
  return typeof read === 'function' && typeof close === 'function'
})

const offlineEngineOptions = optionsOf<OfflineEngineOptions>()(
  { reader: readerValue, sampleRateHz: wholeNumber({ min: 1 }), words: flag, maxReadMs: wholeNumber({ min: 2_000 }) },
  {
    partials: partialsOption,
    language: nonEmptyText,
    languages: listOf(nonEmptyText),
    phrases: flag,
    segmentsAtOnce: wholeNumber({ min: 1 }),
    ready: functionValue,
    checkPhrases: functionValue,
    scheduler: schedulerValue,
  },
)

/** Open segments for each reading at once. Each has a result to come, and its audio in memory until then. */
const segmentsPerRead = 16
/** Best for whisper: with less, first and last sounds are misread, and with more, more of what is around is read. */
const usedContextMs = 250
const autoStepMs = 700

/**
 * Creates an engine from a reader of whole audio: each segment is read at its end, and on the way as often as there is
 * time.
 *
 * @example
 * ```ts
 * const engine = createOfflineEngine({ reader, sampleRateHz: 16_000, words: true, maxReadMs: 20_000 })
 * ```
 */
export const createOfflineEngine = (options: OfflineEngineOptions): Engine => {
  checkOptions(offlineEngineOptions, options)
  const { reader, sampleRateHz, words, maxReadMs, language: usual, languages, ready, checkPhrases } = options
  const { partials = 'auto', phrases: takesPhrases = false, scheduler = asyncScheduler } = options
  const { segmentsAtOnce = segmentsPerRead * reader.readsAtOnce } = options
  const queue = new ReadQueue(reader, sampleRateHz, scheduler)
  // Only times of words separate the segment from its context.
  const contextMs = words ? usedContextMs : 0
  const plan: Omit<ReadPlan, 'settings'> = {
    queue,
    sampleRateHz,
    contextMs,
    scheduler,
    maxPartMs: maxReadMs - 2 * contextMs,
    minStepMs: partials === 'off' ? undefined : partials === 'auto' ? autoStepMs : partials,
  }
  return createSegmentEngine({
    capabilities: {
      sampleRateHz,
      words,
      contextMs,
      segmentsAtOnce,
      languages,
      partials: partials !== 'off',
      kind: 'dictation',
      phrases: takesPhrases,
    },
    openChannel: ({ language = usual, phrases }: RecognizeSettings): OpenSegment => {
      const ofChannel = { ...plan, settings: { language, phrases } }
      return (startMs, listener, _traceparent, before) => new OfflineSegment(startMs, listener, before, ofChannel)
    },
    ...(ready && { ready }),
    ...(checkPhrases && { checkPhrases }),
    busyMs: () => reader.busyMs?.(),
    memoryBytes: () => reader.memoryBytes?.(),
    waitMs: (speakers) => queue.waitMs(speakers),
    partialIntervalMs: () => queue.partialIntervalMs,
    close: () => reader.close(),
  })
}
