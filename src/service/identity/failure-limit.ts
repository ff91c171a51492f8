const windowMs = 60_000

export interface FailureLimitOptions {
  /** How many failures of one key within a minute are let through. */
  readonly failuresPerMinute: number
  /** How many keys are remembered; the one whose minute began first is forgotten for a new one. */
  readonly maxKeys?: number
  /** Milliseconds on any scale that does not jump. */
  readonly now: () => number
}

/** Counts failures by key, in memory that has a bound. */
export interface FailureLimit {
  /** How long the keys must wait, in milliseconds; 0 when none has failed too often. */
  retryAfterMs(keys: readonly string[]): number
  record(keys: readonly string[]): void
  readonly size: number
}

/**
 * A minute begins with the first failure of a key and ends with its count. Since all last equally long, a `Map` in
 * order of insertion holds the oldest first, and nothing needs a timer.
 */
export const createFailureLimit = ({ failuresPerMinute, maxKeys = 10_000, now }: FailureLimitOptions): FailureLimit => {
  const counts = new Map<string, { readonly untilMs: number; readonly failures: number }>()

  const forgetOld = (): void => {
    for (const [key, { untilMs }] of counts) {
      if (untilMs > now() && counts.size <= maxKeys) return
      counts.delete(key)
    }
  }

  const waitMs = (key: string): number => {
    const count = counts.get(key)
    return count === undefined || count.failures < failuresPerMinute ? 0 : Math.max(0, count.untilMs - now())
  }

  const add = (key: string): void => {
    const count = counts.get(key)
    counts.set(key, { untilMs: count?.untilMs ?? now() + windowMs, failures: (count?.failures ?? 0) + 1 })
  }

  return {
    retryAfterMs: (keys) => Math.max(0, ...keys.map(waitMs)),
    record: (keys) => {
      forgetOld()
      keys.forEach(add)
      forgetOld()
    },
    get size() {
      return counts.size
    },
  }
}
