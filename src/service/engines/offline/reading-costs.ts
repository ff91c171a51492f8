/** How much an older reading counts beside the one after it. */
const kept = 0.98
/** Until a reading was measured: an engine that needs a tenth of the time of its audio. */
const usualPerMs = 0.1
const usualMs = 500
/** The share of results that may wait longer than `expectedWaitMs`. */
const lateShare = 0.02
/** What is longer is as bad. */
const maxWaitMs = 60_000

/** What readings of one purpose cost; the latest count most. */
export class ReadingCosts {
  #lengthMs = 0
  #tookMs = 0
  #squares = 0

  add(lengthMs: number, tookMs: number): void {
    this.#lengthMs = kept * this.#lengthMs + lengthMs
    this.#tookMs = kept * this.#tookMs + tookMs
    this.#squares = kept * this.#squares + tookMs ** 2
  }

  get isKnown(): boolean {
    return this.#tookMs > 0
  }

  /** How long a reading takes for each millisecond of its audio. */
  get perMs(): number {
    return this.isKnown ? this.#tookMs / Math.max(this.#lengthMs, 1) : usualPerMs
  }

  /**
   * How long all but one in twenty of these readings wait for a place, if they use this share of the places in the mean. It is the
   * usual approximation of a queue with several servers and any service time (Sakasegawa 1977, with the tail of Kingman).
   */
  expectedWaitMs(use: number, places: number): number {
    if (use >= 1) return maxWaitMs
    const waitingShare = use ** (Math.sqrt(2 * (places + 1)) - 1)
    const restMs = this.isKnown ? this.#squares / (2 * this.#tookMs) : usualMs
    const waitMs = (restMs / (places * (1 - use))) * Math.log(waitingShare / lateShare)
    return Math.min(Math.max(waitMs, 0), maxWaitMs)
  }
}

/** A mean over the last time, in which what is older fades. */
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
    const kept = Math.exp((this.#atMs - nowMs) / this.#windowMs)
    this.#value = this.#value * kept + value * (1 - kept)
    this.#atMs = nowMs
    return this.#value
  }
}
