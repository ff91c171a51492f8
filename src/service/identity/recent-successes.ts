const rememberedMs = 86_400_000
const maxKeys = 10_000

/** Where clients have been let in of late, in memory that has a bound. */
export interface RecentSuccesses {
  has(key: string): boolean
  record(key: string): void
}

/** Each is remembered for a day after the last time; of too many the one that was longest ago is forgotten. */
export const createRecentSuccesses = ({ now }: { readonly now: () => number }): RecentSuccesses => {
  const untilMs = new Map<string, number>()
  return {
    has: (key) => (untilMs.get(key) ?? 0) > now(),
    record: (key) => {
      // Put in again, so that the order of insertion is that of the last time.
      untilMs.delete(key)
      untilMs.set(key, now() + rememberedMs)
      const [oldest] = untilMs.keys()
      if (untilMs.size > maxKeys && oldest !== undefined) untilMs.delete(oldest)
    },
  }
}
