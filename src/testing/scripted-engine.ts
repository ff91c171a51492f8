import type { Word } from '../protocol/session-event.js'
import type { Engine } from '../service/engines/engine.js'
import { laneEngine } from '../service/engines/segment-engine.js'
import type { LaneSegment, OpenSegment, SegmentListener } from '../service/engines/channel-segments.js'

export interface ScriptedEngineOptions {
  /** What each segment of a session "says", in turn; after the last it begins again. */
  readonly texts: readonly string[]
  /** The posterior of every word, 0 to 1. Default 0.9. */
  readonly confidence?: number
  /** Default 8000 Hz. */
  readonly sampleRateHz?: number
}

/**
 * An engine that hears nothing: each segment gets the next text of a script, a word more at every 300 ms of audio as
 * partials, and the whole when it closes. It answers at once, without timers and threads, so it runs in virtual time.
 */
export const scriptedEngine = ({ texts, confidence = 0.9, sampleRateHz = 8000 }: ScriptedEngineOptions): Engine =>
  laneEngine({
    capabilities: {
      sampleRateHz,
      partials: true,
      words: true,
      kind: 'dictation',
      segmentsAtOnce: Number.MAX_SAFE_INTEGER,
    },
    openLane: () => readFrom(texts, confidence, sampleRateHz),
    ready: () => Promise.resolve(),
    close: () => Promise.resolve(),
  })

const wordMs = 300

/** One lane's reading of the script, from its first text. */
const readFrom = (texts: readonly string[], confidence: number, sampleRateHz: number): OpenSegment => {
  let turn = 0
  return (startMs, listener) => {
    const text = texts[turn % texts.length] ?? ''
    turn += 1
    const words = text.split(' ').filter((word) => word !== '')
    return new ScriptedSegment(startMs, listener, words, confidence, sampleRateHz)
  }
}

class ScriptedSegment implements LaneSegment {
  #sampleCount = 0
  #told = 0

  constructor(
    private readonly startMs: number,
    private readonly listener: SegmentListener,
    private readonly words: readonly string[],
    private readonly confidence: number,
    private readonly sampleRateHz: number,
  ) {}

  write(samples: Int16Array): void {
    this.#sampleCount += samples.length
    const heard = Math.floor((this.#sampleCount * 1000) / this.sampleRateHz / wordMs)
    const count = Math.min(this.words.length, heard)
    const partial = count === this.#told ? undefined : this.words.slice(0, count).join(' ')
    this.#told = count
    this.listener.taken(samples.length, partial)
  }

  close(endMs: number): void {
    this.listener.decided(this.words.map((text, index) => this.#word(text, index, endMs)))
  }

  abort(): void {
    // Nothing is held
  }

  #word(text: string, index: number, endMs: number): Word {
    const { startMs, confidence } = this
    const share = (endMs - startMs) / this.words.length
    return {
      text,
      startMs: Math.round(startMs + index * share),
      endMs: Math.round(startMs + (index + 1) * share),
      confidence,
    }
  }
}
