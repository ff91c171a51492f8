import type { SegmentPart } from '../engine/engine.js'

/** A segment that the engine has not decided yet, by counts of samples handed to the engine. */
interface UnderWay {
  readonly startMs: number
  readonly from: number
  to: number
}

/** Engines decode in steps of 100 ms; a rest of less than two may wait for more audio. */
const longestStepMs = 200

/**
 * Which of a lane's samples are dealt with: those that no segment needs at once, those of a segment when the engine has
 * taken them in. Audio that a segmenter withholds counts as dealt with, since it has a bound of its own.
 */
export class EngineProgress {
  private readonly inputPerSample: number
  private received = 0
  private given = 0
  private taken = 0
  private reported = 0
  private readonly underWay: UnderWay[] = []
  private decided = 0

  constructor(
    private readonly inputRateHz: number,
    private readonly engineRateHz: number,
  ) {
    this.inputPerSample = inputRateHz / engineRateHz
  }

  get receivedMs(): number {
    return Math.round((this.received * 1000) / this.inputRateHz)
  }

  /** Segments that the engine was given, an open one included, and those of them that it has decided. */
  get givenSegments(): number {
    return this.decided + this.underWay.length
  }

  get decidedSegments(): number {
    return this.decided
  }

  /** Returns how long they last, in milliseconds. */
  receive(sampleCount: number): number {
    this.received += sampleCount
    return (sampleCount * 1000) / this.inputRateHz
  }

  give(part: SegmentPart): void {
    if (part.type === 'open') {
      this.underWay.push({ startMs: part.startMs, from: this.given, to: this.given })
    } else if (part.type === 'audio') {
      this.given += part.samples.length
      const last = this.underWay.at(-1)
      if (last !== undefined) last.to = this.given
    }
  }

  /** The engine took so many samples more in. */
  take(sampleCount: number): void {
    this.taken = Math.min(this.taken + sampleCount, this.given)
  }

  /** The engine decided its oldest segment, and so has taken in all of it. */
  decide(): void {
    const decided = this.underWay.shift()
    if (decided === undefined) return
    this.decided += 1
    this.taken = Math.max(this.taken, decided.to)
  }

  /** Whether the engine owes more than the step that engines decode in: then it is not the client who is silent. */
  get isBehind(): boolean {
    return ((this.given - this.taken) * 1000) / this.engineRateHz > longestStepMs
  }

  /** How far into its oldest segment the engine has heard; all that it was given where it doesn't tell. */
  get heardMs(): number {
    const [oldest] = this.underWay
    if (oldest === undefined) return this.receivedMs
    const heard = Math.min(this.taken, oldest.to) - oldest.from
    const samples = heard > 0 ? heard : oldest.to - oldest.from
    return oldest.startMs + Math.round((samples * 1000) / this.engineRateHz)
  }

  /** How many input samples more are dealt with than at the last call; never less than none. */
  settle(): number {
    const dealtWith = Math.floor(this.received - (this.given - this.taken) * this.inputPerSample)
    const more = Math.max(dealtWith - this.reported, 0)
    this.reported += more
    return more
  }
}
