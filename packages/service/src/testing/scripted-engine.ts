import type { Engine, EngineSegment, OpenSegment, SegmentListener } from 'rxspeech-engines/engine'
import { createSegmentEngine } from 'rxspeech-engines/segment-engine'
import { listOf } from 'rxspeech/internal/protocol/collections'
import type { Word } from 'rxspeech/internal/protocol/session-event'
import { checkOptions, number, optionsOf, text, wholeNumber } from 'rxspeech/internal/protocol/validation'

/** What the engine recognizes. */
export interface ScriptedEngineOptions {
  /** The text of each segment of a channel, in turn; after the last one the first follows. */
  readonly texts: readonly string[]
  /** The confidence of every word, 0 to 1. @default 0.9 */
  readonly confidence?: number | undefined
  /** In Hz. @default 8000 */
  readonly sampleRateHz?: number | undefined
}

/**
 * An engine that ignores the audio: each segment gets the next text of a script, as partials with one more word every
 * 300 ms of audio, and as a whole when it closes. It answers at once, without timers and threads, so it works in
 * virtual time.
 *
 * @example
 * const service = inMemoryService({ engine: scriptedEngine({ texts: ['good evening', 'a table for two'] }) })
 */
export const scriptedEngine = (options: ScriptedEngineOptions): Engine => {
  const { texts, confidence = 0.9, sampleRateHz = 8000 } = checkOptions(scriptedEngineOptions, options)
  return createSegmentEngine({
    capabilities: {
      sampleRateHz,
      partials: true,
      words: true,
      kind: 'dictation',
      segmentsAtOnce: Number.MAX_SAFE_INTEGER,
    },
    openChannel: () => openSegments(texts, confidence, sampleRateHz),
  })
}

const scriptedEngineOptions = optionsOf<ScriptedEngineOptions>()(
  { texts: listOf(text) },
  { confidence: number({ min: 0, max: 1 }), sampleRateHz: wholeNumber({ min: 1 }) },
)

const wordMs = 300

/** Opens the segments of one channel, from the first text on. */
const openSegments = (texts: readonly string[], confidence: number, sampleRateHz: number): OpenSegment => {
  let turn = 0
  return (startMs, listener) => {
    const text = texts[turn % texts.length] ?? ''
    turn += 1
    const words = text.split(' ').filter((word) => word !== '')
    return scriptedSegment(startMs, listener, words, confidence, sampleRateHz)
  }
}

const scriptedSegment = (
  startMs: number,
  listener: SegmentListener,
  words: readonly string[],
  confidence: number,
  sampleRateHz: number,
): EngineSegment => {
  let sampleCount = 0
  let shownWords = 0
  return {
    write: (samples) => {
      sampleCount += samples.length
      const count = Math.min(words.length, Math.floor((sampleCount * 1000) / sampleRateHz / wordMs))
      const partial = count === shownWords ? undefined : words.slice(0, count).join(' ')
      shownWords = count
      listener.progress(samples.length, partial)
    },
    close: (endMs) => {
      const share = (endMs - startMs) / words.length
      const wordAt = (text: string, index: number): Word => ({
        text,
        startMs: Math.round(startMs + index * share),
        endMs: Math.round(startMs + (index + 1) * share),
        confidence,
      })
      listener.decided(words.map(wordAt))
    },
    abort: () => undefined,
  }
}
