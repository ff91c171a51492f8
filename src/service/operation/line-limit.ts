/** Lets so many lines a minute through, and says with the next one how many were left out. */
export class LineLimit {
  readonly #perMinute: number
  readonly #now: () => number
  #untilMs = 0
  #lines = 0
  #leftOut = 0

  constructor(perMinute: number, now: () => number) {
    this.#perMinute = perMinute
    this.#now = now
  }

  /** How many were left out before this one, or undefined where this one is left out, too. */
  pass(): number | undefined {
    if (this.#now() >= this.#untilMs) {
      this.#untilMs = this.#now() + 60_000
      this.#lines = 0
    }
    this.#lines += 1
    if (this.#lines > this.#perMinute) {
      this.#leftOut += 1
      return undefined
    }
    const leftOut = this.#leftOut
    this.#leftOut = 0
    return leftOut
  }
}
