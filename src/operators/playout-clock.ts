/** Timers count in whole milliseconds, and may fire within one of them. */
const toleranceMs = 1

/**
 * When the next piece of audio is due: the start plus the audio before it, so that late timers never add up to a drift.
 * All times in milliseconds of the clock that `now` comes from.
 */
export class PlayoutClock {
  readonly #speed: number
  readonly #maxCatchUpMs: number
  readonly #maxAheadMs: number
  #startMs: number | undefined
  #audioMs = 0

  /** `maxAheadMs`: the longest that the next piece can be away while the clock runs as it should. */
  constructor(speed: number, maxCatchUpMs: number, maxAheadMs: number) {
    this.#speed = speed
    this.#maxCatchUpMs = maxCatchUpMs
    this.#maxAheadMs = maxAheadMs
  }

  /** The first piece is due when it is there. */
  isDue(nowMs: number): boolean {
    return this.#startMs === undefined || this.#dueMs(this.#startMs) <= nowMs + toleranceMs
  }

  played(nowMs: number, audioMs: number): void {
    this.#startMs ??= nowMs
    this.#audioMs += audioMs
  }

  /** To be told before each look: after a stall the start moves, so that no more is caught up than the bound allows. */
  tick(nowMs: number): void {
    if (this.#startMs === undefined) return
    const lateMs = nowMs - this.#dueMs(this.#startMs)
    if (lateMs > this.#maxCatchUpMs) this.#startMs += lateMs - this.#maxCatchUpMs
    // Only a clock that was set back makes a piece wait longer than the one before it lasts.
    else if (-lateMs > this.#maxAheadMs) this.#startMs += lateMs + this.#maxAheadMs
  }

  #dueMs(startMs: number): number {
    return startMs + this.#audioMs / this.#speed
  }
}
