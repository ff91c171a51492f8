import type { SegmentPart } from 'rxspeech-engines/engine'

/** A segment that the engine has not decided yet, in samples sent to the engine. */
interface PendingSegment {
  startMs: number
  from: number
  to: number
}

/** Engines decode in steps of 100 ms; a remainder of less than two steps may wait for more audio. */
const maxStepMs = 200

/**
 * Counts how far a channel is processed. Samples that no segment needs are processed at once, those of a segment when
 * the engine has taken them in. Audio that the segmenter holds back counts as processed, because it has a bound of its
 * own.
 */
export class EngineProgress {
  readonly #inputRateHz: number
  readonly #engineRateHz: number
  readonly #inputPerSample: number
  #received = 0
  #sent = 0
  #acknowledged = 0
  #reported = 0
  readonly #pending: PendingSegment[] = []
  #decidedSegments = 0
  /** Samples of the engine's rate that wait in the segmenter for an answer of the engine. */
  kept = 0

  constructor(inputRateHz: number, engineRateHz: number) {
    this.#inputRateHz = inputRateHz
    this.#engineRateHz = engineRateHz
    this.#inputPerSample = inputRateHz / engineRateHz
  }

  get receivedMs(): number {
    return Math.round((this.#received * 1000) / this.#inputRateHz)
  }

  /** Segments that the engine was sent, including an open one. */
  get sentSegments(): number {
    return this.#decidedSegments + this.#pending.length
  }

  get decidedSegments(): number {
    return this.#decidedSegments
  }

  /** Counts samples of the input and returns their duration in milliseconds. */
  receive(sampleCount: number): number {
    this.#received += sampleCount
    return (sampleCount * 1000) / this.#inputRateHz
  }

  /** Counts what the engine is sent. */
  send(part: SegmentPart): void {
    if (part.type === 'open') {
      this.#pending.push({ startMs: part.startMs, from: this.#sent, to: this.#sent })
    } else if (part.type === 'audio') {
      this.#sent += part.samples.length
      const last = this.#pending.at(-1)
      if (last !== undefined) last.to = this.#sent
    }
  }

  /** The engine took in `sampleCount` more samples. */
  acknowledge(sampleCount: number): void {
    this.#acknowledged = Math.min(this.#acknowledged + sampleCount, this.#sent)
  }

  /** The engine decided its oldest segment, which means that it has taken in all of it. */
  decideOldest(): void {
    const decided = this.#pending.shift()
    if (decided === undefined) return
    this.#decidedSegments += 1
    this.#acknowledged = Math.max(this.#acknowledged, decided.to)
  }

  /** The engine decided the first samples of its oldest segment, which continues at `endMs`. */
  decidePart(sampleCount: number, endMs: number): void {
    const [oldest] = this.#pending
    if (oldest === undefined) return
    oldest.from = Math.min(oldest.from + sampleCount, oldest.to)
    oldest.startMs = endMs
    this.#acknowledged = Math.max(this.#acknowledged, oldest.from)
  }

  /**
   * Whether the engine lags by more than a decoding step. As long as it does, missing audio is not the client's
   * silence.
   */
  get isEngineBehind(): boolean {
    return ((this.#sent - this.#acknowledged) * 1000) / this.#engineRateHz > maxStepMs
  }

  /** The audio time up to which the oldest pending segment is processed, or sent if the engine reports no progress. */
  get processedMs(): number {
    const [oldest] = this.#pending
    if (oldest === undefined) return this.receivedMs
    const acknowledged = Math.min(this.#acknowledged, oldest.to) - oldest.from
    const samples = acknowledged > 0 ? acknowledged : oldest.to - oldest.from
    return oldest.startMs + Math.round((samples * 1000) / this.#engineRateHz)
  }

  /** How many input samples were processed since the last call; never negative. */
  takeProcessed(): number {
    const pending = this.#sent - this.#acknowledged + this.kept
    const processed = Math.floor(this.#received - pending * this.#inputPerSample)
    const added = Math.max(processed - this.#reported, 0)
    this.#reported += added
    return added
  }
}
