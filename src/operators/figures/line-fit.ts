/** The slope of a line through points, by least squares, in sums that are kept up with each point (Welford). */
export class LineFit {
  #count = 0
  #meanX = 0
  #meanY = 0
  #varianceX = 0
  #covariance = 0
  #firstX = 0
  #lastX = 0

  add(x: number, y: number): void {
    if (this.#count === 0) this.#firstX = x
    this.#lastX = x
    this.#count += 1
    const fromX = x - this.#meanX
    this.#meanX += fromX / this.#count
    this.#meanY += (y - this.#meanY) / this.#count
    this.#varianceX += fromX * (x - this.#meanX)
    this.#covariance += fromX * (y - this.#meanY)
  }

  /** From the first to the last point. */
  get spanX(): number {
    return this.#lastX - this.#firstX
  }

  /** Undefined where all points stand above each other. */
  slope(): number | undefined {
    return this.#varianceX > 0 ? this.#covariance / this.#varianceX : undefined
  }
}
