import { SpeechError } from '../../../../src/errors/speech-error.js'
import type { Engine, EngineCapabilities, RecognizeSettings, SegmentListener } from '../../../engines/src/engine.js'
import { createSegmentEngine } from '../../../engines/src/segment-engine.js'
import type { VirtualClock } from '../../../service/test/virtual-clock.js'

const capabilities: EngineCapabilities = {
  sampleRateHz: 8000,
  partials: true,
  words: true,
  kind: 'dictation',
  checks: true,
  segmentsAtOnce: 4,
}

/** What it recognizes in samples: a lost, doubled or misplaced one changes it. */
export const textOf = (samples: readonly number[]): string =>
  `${samples.length} ${samples.reduce((hash, sample) => (hash * 31 + sample) | 0, 7)}`

/** An engine that counts. */
export interface CountingEngine extends Engine {
  /** Segments that are open now. */
  readonly open: () => number
  /** Segments that were opened. */
  readonly opened: () => number
  /** How often it has checked phrases. */
  readonly checked: () => number
  /** What the sessions of the segments asked for, in order. */
  readonly settings: readonly RecognizeSettings[]
  /** Fails every open segment. */
  readonly fail: () => void
  /** Says so much of every open segment. */
  readonly repeat: (partial: string) => void
}

export interface CountingEngineOptions {
  /** @default 5 */
  readonly decideAfterMs?: number
  /** Whether it reports its progress. @default true */
  readonly reads?: boolean
  /** How long it takes to decode a second of a segment, in seconds. @default 0 */
  readonly realTimeFactor?: number
  /** Whether every segment fails with its first audio. @default false */
  readonly fails?: boolean
  /** Whether it takes phrases, but for those that are "unknown". @default false */
  readonly phrases?: boolean
  /** Its languages. @default none */
  readonly languages?: readonly string[]
}

/**
 * An engine whose text proves the samples of its segments. It decides `decideAfterMs` after it has decoded the last of
 * them.
 */
export const countingEngine = (
  clock: VirtualClock,
  {
    decideAfterMs = 5,
    reads = true,
    realTimeFactor = 0,
    fails = false,
    phrases = false,
    languages,
  }: CountingEngineOptions = {},
): CountingEngine => {
  const listeners = new Set<SegmentListener>()
  const asked: RecognizeSettings[] = []
  let opened = 0
  let checked = 0
  const engine = createSegmentEngine({
    capabilities: { ...capabilities, phrases, languages },
    checkPhrases: (given) => {
      checked += 1
      const index = given.indexOf('unknown')
      return Promise.resolve(index === -1 ? [] : [{ index, reason: 'is unknown.' }])
    },
    openChannel: (settings) => (startMs, listener) => {
      asked.push(settings)
      const samples: number[] = []
      let decodedAtMs = 0
      const afterDecoding = (sampleCount: number, act: () => void): void => {
        if (realTimeFactor === 0) {
          act()
          return
        }
        decodedAtMs = Math.max(decodedAtMs, clock.now()) + (sampleCount / 8) * realTimeFactor
        clock.schedule(() => {
          if (listeners.has(listener)) act()
        }, decodedAtMs - clock.now())
      }
      opened += 1
      listeners.add(listener)
      return {
        write: (chunk) => {
          if (fails && listeners.delete(listener)) listener.failed(new SpeechError('engine-failed', 'It is broken.'))
          samples.push(...chunk)
          const text = `${samples.length}`
          if (reads) afterDecoding(chunk.length, () => listener.progress(chunk.length, text, text.length - 1))
        },
        // An even number of seconds is complete.
        check: () => void clock.schedule(() => listener.checked(samples.length % 16_000 === 0), decideAfterMs),
        close: (endMs, isCut) => {
          const decide = (): void => {
            if (!listeners.delete(listener)) return
            const text = textOf(samples)
            listener.decided(
              [{ text, startMs, endMs, confidence: 0.5 }],
              isCut ? { text, isIncomplete: true } : { text, slots: { count: text } },
            )
          }
          afterDecoding(0, () => void clock.schedule(decide, decideAfterMs))
        },
        abort: () => void listeners.delete(listener),
      }
    },
  })
  return {
    ...engine,
    open: () => listeners.size,
    opened: () => opened,
    checked: () => checked,
    settings: asked,
    fail: () => {
      for (const listener of [...listeners]) {
        listeners.delete(listener)
        listener.failed(new SpeechError('engine-failed', 'The decoder failed.'))
      }
    },
    repeat: (partial) => {
      for (const listener of listeners) listener.progress(0, partial)
    },
  }
}
