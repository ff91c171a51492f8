import type { Word } from '../../protocol/session-event.js'

/** The mean of posteriors from 0 to 1, each weighted by how long its word lasts. */
export class Confidence {
  private weighted = 0
  private durationMs = 0

  add(words: readonly Word[]): this {
    for (const { startMs, endMs, confidence } of words) {
      const lengthMs = Math.max(endMs - startMs, 1)
      this.weighted += lengthMs * Math.min(Math.max(confidence, 0), 1)
      this.durationMs += lengthMs
    }
    return this
  }

  /** None where there was no word. */
  get mean(): number | undefined {
    return this.durationMs === 0 ? undefined : this.weighted / this.durationMs
  }
}
