/** What one number of calls led to. */
export interface TriedCalls {
  readonly calls: number
  readonly isCarried: boolean
  /** The 95th percentile of the time that results waited, in milliseconds; undefined if calls failed. */
  readonly p95Ms?: number | undefined
}

export interface SearchOptions {
  /** The first number to try. */
  readonly estimate: number
  /** How much more is tried while everything is carried, as a factor. */
  readonly growth: number
  readonly maxCalls: number
}

/** The search ends when the largest number that is carried and the smallest that is not differ by this share. */
const resolution = 0.03
/** Results that waited less than this count as this, in an interpolation by the logarithm. */
const minP95Ms = 20

interface Bracket {
  /** The largest number that was carried, below the first one that was not. */
  readonly carried: TriedCalls | undefined
  /** The smallest number that was not carried. */
  readonly exceeded: TriedCalls | undefined
}

const bracketOf = (tried: readonly TriedCalls[]): Bracket => {
  const byCalls = tried.toSorted((a, b) => a.calls - b.calls)
  const exceeded = byCalls.find(({ isCarried }) => !isCarried)
  const carried = byCalls.findLast(
    ({ calls, isCarried }) => isCarried && (exceeded === undefined || calls < exceeded.calls),
  )
  return { carried, exceeded }
}

/** How far apart the two ends may be. */
const stepAt = (calls: number): number => Math.max(1, Math.floor(calls * resolution))

/** The next number of calls to try; undefined when the capacity is known. */
export const nextCalls = (
  tried: readonly TriedCalls[],
  { estimate, growth, maxCalls }: SearchOptions,
): number | undefined => {
  const { carried, exceeded } = bracketOf(tried)
  if (carried === undefined && exceeded === undefined) return Math.min(Math.max(1, Math.round(estimate)), maxCalls)
  if (exceeded === undefined) {
    const calls = carried?.calls ?? 0
    return calls >= maxCalls ? undefined : Math.min(Math.max(calls + 1, Math.round(calls * growth)), maxCalls)
  }
  const below = carried?.calls ?? 0
  if (carried === undefined) {
    if (exceeded.calls === 1) return undefined
    return Math.max(1, Math.min(exceeded.calls - 1, Math.round(exceeded.calls / growth)))
  }
  if (exceeded.calls - below <= stepAt(below)) return undefined
  return Math.floor((below + exceeded.calls) / 2)
}

/**
 * Where the time that results wait reaches the target, between the numbers that were tried: by the logarithm of that
 * time, because it grows steeply. 0 if not one call is carried.
 */
export const capacityOf = (tried: readonly TriedCalls[], targetMs: number): number => {
  const { carried, exceeded } = bracketOf(tried)
  if (carried === undefined) return 0
  if (exceeded?.p95Ms === undefined || carried.p95Ms === undefined) return carried.calls
  const lowMs = Math.max(carried.p95Ms, minP95Ms)
  const highMs = Math.max(exceeded.p95Ms, targetMs)
  const part = highMs <= lowMs ? 0 : Math.log(targetMs / lowMs) / Math.log(highMs / lowMs)
  return carried.calls + (exceeded.calls - carried.calls) * Math.min(Math.max(part, 0), 1)
}

/** Whether the capacity may be larger, because as many calls as are permitted were carried. */
export const isAtMaximum = (tried: readonly TriedCalls[], maxCalls: number): boolean => {
  const { carried, exceeded } = bracketOf(tried)
  return exceeded === undefined && carried !== undefined && carried.calls >= maxCalls
}

/** About how many steps a round still takes; for the time that is left. */
export const stepsLeft = (tried: readonly TriedCalls[], options: SearchOptions): number => {
  const { carried, exceeded } = bracketOf(tried)
  if (nextCalls(tried, options) === undefined) return 0
  const low = carried?.calls ?? (exceeded?.calls ?? options.estimate) / options.growth
  const high = exceeded?.calls ?? Math.max(low + 1, low * options.growth)
  const halvings = Math.max(0, Math.ceil(Math.log2(Math.max(1, (high - low) / stepAt(low)))))
  return halvings + Number(carried === undefined) + Number(exceeded === undefined)
}

/** The capacities of rounds: their median, and how far apart they are in percent of it. */
export const summarizeRounds = (
  capacities: readonly number[],
): { readonly capacity: number; readonly spreadPercent: number } => {
  const sorted = capacities.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? 0
  const capacity = sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2
  const range = (sorted.at(-1) ?? 0) - (sorted[0] ?? 0)
  return { capacity, spreadPercent: capacity === 0 ? 0 : (100 * range) / capacity }
}
