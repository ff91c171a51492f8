import { describe, expect, it } from 'vitest'
import {
  capacityOf,
  isAtMaximum,
  nextCalls,
  stepsLeft,
  summarizeRounds,
  type TriedCalls,
} from '../../src/cli/sizing/search.js'

const options = { estimate: 8, growth: 1.5, maxCalls: 100 }
const carried = (calls: number, p95Ms = 100): TriedCalls => ({ calls, isCarried: true, p95Ms })
const late = (calls: number, p95Ms = 4_000): TriedCalls => ({ calls, isCarried: false, p95Ms })

/** Runs the search to its end; `isCarried` is the machine. */
const search = (isCarried: (calls: number) => boolean, from = options): readonly TriedCalls[] => {
  const tried: TriedCalls[] = []
  for (let calls = nextCalls(tried, from); calls !== undefined; calls = nextCalls(tried, from)) {
    tried.push(isCarried(calls) ? carried(calls) : late(calls))
  }
  return tried
}

describe('the search for the number of calls', () => {
  it('begins with the estimate, grows while all is carried, and then halves the distance', () => {
    expect(search((calls) => calls <= 14).map(({ calls }) => calls)).toEqual([8, 12, 18, 15, 13, 14])
  })

  it('goes down from an estimate that is too high', () => {
    expect(search((calls) => calls <= 2).map(({ calls }) => calls)).toEqual([8, 5, 3, 2])
  })

  it.each([0, 1, 2, 3, 7, 8, 9, 13, 29, 64, 99, 100, 1000])(
    'finds %i in few steps, or at most 3 percent less',
    (capacity) => {
      const tried = search((calls) => calls <= capacity)
      const found = Math.max(0, ...tried.filter(({ isCarried }) => isCarried).map(({ calls }) => calls))
      const within = Math.min(capacity, options.maxCalls)
      expect(found).toBeLessThanOrEqual(within)
      expect(found).toBeGreaterThanOrEqual(Math.floor(within * 0.97))
      expect(tried.length).toBeLessThanOrEqual(12)
      expect(isAtMaximum(tried, options.maxCalls)).toBe(capacity >= options.maxCalls)
    },
  )

  it('needs at most four steps around the number of the round before', () => {
    for (const capacity of [7, 8, 9]) {
      expect(search((calls) => calls <= capacity, { ...options, growth: 1.12 }).length).toBeLessThanOrEqual(3)
    }
  })

  it('does not try a number again, also if a smaller one failed by chance', () => {
    const tried = [carried(8), late(12), carried(10), late(9)]
    expect(nextCalls(tried, options)).toBeUndefined()
    expect(capacityOf(tried, 1_000)).toBeLessThan(9)
  })

  it('expects as many further steps as it takes, or one more or less', () => {
    const all = search((calls) => calls <= 14)
    all.forEach((_one, at) => {
      expect(Math.abs(stepsLeft(all.slice(0, at), options) - (all.length - at))).toBeLessThanOrEqual(2)
    })
    expect(stepsLeft(all, options)).toBe(0)
  })
})

describe('the capacity', () => {
  it('is between the numbers that were tried, where the wait reaches the target', () => {
    expect(capacityOf([carried(8, 500), late(9, 2_000)], 1_000)).toBeCloseTo(8.5)
    expect(capacityOf([carried(8, 1_000), late(9, 4_000)], 1_000)).toBeCloseTo(8)
  })

  it('is the largest number that was carried if the next one lost something', () => {
    expect(capacityOf([carried(8, 500), { calls: 9, isCarried: false }], 1_000)).toBe(8)
  })

  it('is 0 if one call is too much', () => {
    expect(capacityOf([late(1)], 1_000)).toBe(0)
  })

  it('of several rounds is the median, with the spread in percent of it', () => {
    expect(summarizeRounds([8.4, 8, 8.2])).toEqual({ capacity: 8.2, spreadPercent: expect.closeTo(4.88) as unknown })
    expect(summarizeRounds([8, 9])).toEqual({ capacity: 8.5, spreadPercent: expect.closeTo(11.76) as unknown })
    expect(summarizeRounds([])).toEqual({ capacity: 0, spreadPercent: 0 })
  })
})
