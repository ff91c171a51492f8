/** Adverts of about a minute. */
const windowAdverts = 200

/**
 * How far the clock of another machine is ahead of this one. A message that took long makes it seem behind, so of a
 * window the one that took the shortest time counts.
 */
export class ClockDifference {
  #shortestMs: number | undefined
  #shortestBeforeMs: number | undefined
  #count = 0

  /** A message was sent, by the other clock, and has arrived, by this one. */
  arrived(sentAtMs: number, nowMs: number): void {
    if (this.#count === windowAdverts) {
      this.#shortestBeforeMs = this.#shortestMs
      this.#shortestMs = undefined
      this.#count = 0
    }
    this.#count += 1
    this.#shortestMs = Math.min(nowMs - sentAtMs, this.#shortestMs ?? Infinity)
  }

  /** Negative if it is behind; undefined before the first message. */
  get aheadMs(): number | undefined {
    const ms = Math.min(this.#shortestMs ?? Infinity, this.#shortestBeforeMs ?? Infinity)
    return ms === Infinity ? undefined : 0 - ms
  }
}
