/** The distribution of a metric over a session, in milliseconds. */
export interface Distribution {
  /** How many values there were. */
  readonly count: number
  /** The lowest value. */
  readonly minMs: number
  /** The median and the 95th percentile are exact to 2.5 %, the minimum and maximum exactly. */
  readonly medianMs: number
  /** The 95th percentile. */
  readonly p95Ms: number
  /** The highest value. */
  readonly maxMs: number
}

/** The ratio of the widths of adjacent buckets. */
const growth = 1.05
/** Enough for 50 days; longer values count as that. */
const maxBuckets = 460

/** A histogram of bounded size. Buckets grow with their values, so the error is a fraction of the value. */
export class Histogram {
  readonly #counts = new Map<number, number>()
  #count = 0
  #minMs = Infinity
  #maxMs = 0

  add(ms: number): void {
    const value = Math.max(0, ms)
    const bucket = Math.min(maxBuckets, Math.round(Math.log1p(value) / Math.log(growth)))
    this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + 1)
    this.#count += 1
    this.#minMs = Math.min(this.#minMs, value)
    this.#maxMs = Math.max(this.#maxMs, value)
  }

  distribution(): Distribution | undefined {
    if (this.#count === 0) return undefined
    return {
      count: this.#count,
      minMs: this.#minMs,
      medianMs: this.#quantile(0.5),
      p95Ms: this.#quantile(0.95),
      maxMs: this.#maxMs,
    }
  }

  #quantile(fraction: number): number {
    const rank = Math.ceil(fraction * this.#count)
    let seen = 0
    for (const [bucket, count] of [...this.#counts].sort(([a], [b]) => a - b)) {
      seen += count
      if (seen >= rank) return Math.min(this.#maxMs, Math.max(this.#minMs, growth ** bucket - 1))
    }
    return this.#maxMs
  }
}
