/** How much an older reading counts beside the one after it. */
const kept = 0.98
/** Until a reading was measured: an engine that needs a tenth of the time of its audio. */
const usualPerMs = 0.1
const usualMs = 500
/** The share of results that may wait longer than `expectedWaitMs`. */
const lateShare = 0.02
/** How many times as long as others a reading may count. */
const maxOutlier = 3
/** Longer waits are reported as this one. */
const maxWaitMs = 60_000

/** What readings of one purpose cost; the latest count most. */
export class ReadingCosts {
  #lengthMs = 0
  #tookMs = 0
  #squares = 0

  /**
   * A reading with a result. One that took much longer than others counts as `maxOutlier` of them: its process had to
   * start.
   */
  add(lengthMs: number, tookMs: number): void {
    const mostMs = this.isKnown ? maxOutlier * Math.max(this.perMs * lengthMs, this.#squares / this.#tookMs) : maxWaitMs
    // A clock that is set back makes it negative.
    const countedMs = Math.min(Math.max(tookMs, 0), mostMs)
    this.#lengthMs = kept * this.#lengthMs + lengthMs
    this.#tookMs = kept * this.#tookMs + countedMs
    this.#squares = kept * this.#squares + countedMs ** 2
  }

  get isKnown(): boolean {
    return this.#tookMs > 0
  }

  /** How long a reading takes for each millisecond of its audio. */
  get perMs(): number {
    return this.isKnown ? this.#tookMs / Math.max(this.#lengthMs, 1) : usualPerMs
  }

  /**
   * How long all but one in fifty of these readings wait for a place, if they use this share of the places in the mean.
   * It is the usual approximation of a queue with several servers and any service time (Sakasegawa 1977, with the tail
   * of Kingman).
   */
  expectedWaitMs(use: number, places: number): number {
    if (use >= 1) return maxWaitMs
    const waitingShare = use ** (Math.sqrt(2 * (places + 1)) - 1)
    const restMs = this.isKnown ? this.#squares / (2 * this.#tookMs) : usualMs
    const waitMs = (restMs / (places * (1 - use))) * Math.log(waitingShare / lateShare)
    return Math.min(Math.max(waitMs, 0), maxWaitMs)
  }
}

/** A mean of the last seconds, in which older values count less. */
export class FadingMean {
  readonly #windowMs: number
  #value = 0
  #atMs: number

  constructor(windowMs: number, nowMs: number) {
    this.#windowMs = windowMs
    this.#atMs = nowMs
  }

  /** The mean up to now, with this value since the last call. */
  update(value: number, nowMs: number): number {
    const kept = Math.exp(Math.min(this.#atMs - nowMs, 0) / this.#windowMs)
    this.#value = this.#value * kept + value * (1 - kept)
    this.#atMs = nowMs
    return this.#value
  }
}
