import { concatMap, defer, EMPTY, of, type Observable, type OperatorFunction } from 'rxjs'
import type { Engine, EngineCapabilities, Hypothesis, SegmentPart } from '../service/engine/engine.js'

export interface ScriptedEngineOptions {
  /** What each segment of a session "says", in turn; after the last it begins again. */
  readonly texts: readonly string[]
  /** The posterior of every word, 0 to 1. Default 0.9. */
  readonly confidence?: number
  /** Default 8000 Hz. */
  readonly sampleRateHz?: number
}

/** How far a segment has come. */
interface OpenSegment {
  readonly startMs: number
  readonly words: readonly string[]
  sampleCount: number
  told: number
}

/**
 * An engine that hears nothing: each segment gets the next text of a script, a word more at every 300 ms of audio as
 * partials, and the whole when it closes. It answers at once, without timers and threads, so it runs in virtual time.
 */
export const scriptedEngine = ({ texts, confidence = 0.9, sampleRateHz = 8000 }: ScriptedEngineOptions): Engine => {
  const capabilities: EngineCapabilities = {
    sampleRateHz,
    partials: true,
    words: true,
    kind: 'dictation',
    segmentsAtOnce: Number.MAX_SAFE_INTEGER,
  }
  const recognize = (): OperatorFunction<SegmentPart, Hypothesis> => (part$) =>
    defer(() => {
      const lane = new ScriptedLane(texts, confidence, sampleRateHz)
      return part$.pipe(concatMap((part) => lane.hear(part)))
    })
  return { capabilities, recognize, ready: () => Promise.resolve(), close: () => Promise.resolve() }
}

const wordMs = 300

class ScriptedLane {
  #turn = 0
  #open: OpenSegment | undefined

  constructor(
    private readonly texts: readonly string[],
    private readonly confidence: number,
    private readonly sampleRateHz: number,
  ) {}

  hear(part: SegmentPart): Observable<Hypothesis> {
    switch (part.type) {
      case 'open': {
        const text = this.texts[this.#turn % this.texts.length] ?? ''
        this.#turn += 1
        const words = text.split(' ').filter((word) => word !== '')
        this.#open = { startMs: part.startMs, words, sampleCount: 0, told: 0 }
        return EMPTY
      }
      case 'audio':
        return this.#audio(part.samples)
      case 'close':
        return this.#close(part.endMs)
    }
  }

  #audio(samples: Int16Array): Observable<Hypothesis> {
    const progress: Hypothesis = { type: 'progress', sampleCount: samples.length }
    const segment = this.#open
    if (segment === undefined) return of(progress)
    segment.sampleCount += samples.length
    const heard = Math.floor((segment.sampleCount * 1000) / this.sampleRateHz / wordMs)
    const count = Math.min(segment.words.length, heard)
    if (count === segment.told) return of(progress)
    segment.told = count
    const text = segment.words.slice(0, count).join(' ')
    const partial: Hypothesis = { type: 'partial', startMs: segment.startMs, text }
    return of(progress, partial)
  }

  #close(endMs: number): Observable<Hypothesis> {
    const segment = this.#open
    this.#open = undefined
    if (segment === undefined) return EMPTY
    const { startMs, words } = segment
    const share = (endMs - startMs) / Math.max(1, words.length)
    return of({
      type: 'segment',
      startMs,
      endMs,
      text: words.join(' '),
      words: words.map((text, index) => ({
        text,
        startMs: Math.round(startMs + index * share),
        endMs: Math.round(startMs + (index + 1) * share),
        confidence: this.confidence,
      })),
    })
  }
}
