/** How a figure was spread over a session, in milliseconds. */
export interface Spread {
  readonly count: number
  readonly minMs: number
  /** The median and the 95th percentile are told to within 2.5 %; the ends exactly. */
  readonly medianMs: number
  readonly p95Ms: number
  readonly maxMs: number
}

/** Each bucket is so much wider than the one before. */
const growth = 1.05
/** Enough for 50 days; what is longer counts as that. */
const mostBuckets = 460

/** A histogram of bounded size: buckets that grow with their values, so that the error is a part of the value. */
export class Histogram {
  readonly #counts = new Map<number, number>()
  #count = 0
  #minMs = Infinity
  #maxMs = 0

  add(ms: number): void {
    const value = Math.max(0, ms)
    const bucket = Math.min(mostBuckets, Math.round(Math.log1p(value) / Math.log(growth)))
    this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + 1)
    this.#count += 1
    this.#minMs = Math.min(this.#minMs, value)
    this.#maxMs = Math.max(this.#maxMs, value)
  }

  spread(): Spread | undefined {
    if (this.#count === 0) return undefined
    return {
      count: this.#count,
      minMs: this.#minMs,
      medianMs: this.#quantile(0.5),
      p95Ms: this.#quantile(0.95),
      maxMs: this.#maxMs,
    }
  }

  #quantile(part: number): number {
    const rank = Math.ceil(part * this.#count)
    let seen = 0
    for (const [bucket, count] of [...this.#counts].sort(([one], [other]) => one - other)) {
      seen += count
      if (seen >= rank) return Math.min(this.#maxMs, Math.max(this.#minMs, growth ** bucket - 1))
    }
    return this.#maxMs
  }
}
