import { describe, expect, it } from 'vitest'
import { FadingMean, ReadingCosts } from '../../src/offline/reading-costs.js'

describe('what readings cost', () => {
  it('is soon as before after one that took a minute, because its process had to start', () => {
    const costs = new ReadingCosts()
    for (let reading = 0; reading < 100; reading += 1) costs.add(2_500, 250)
    const before = costs.expectedWaitMs(0.6, 1)
    costs.add(2_500, 60_000)
    expect(costs.expectedWaitMs(0.6, 1)).toBeLessThan(1.5 * before)
  })

  it('follows an engine that has become ten times slower', () => {
    const costs = new ReadingCosts()
    for (let reading = 0; reading < 100; reading += 1) costs.add(2_500, 250)
    for (let reading = 0; reading < 50; reading += 1) costs.add(2_500, 2_500)
    expect(costs.perMs).toBeGreaterThan(0.6)
  })

  it('is a number after the clock was set back', () => {
    const costs = new ReadingCosts()
    costs.add(1_000, -60_000)
    expect(costs.expectedWaitMs(0.5, 1)).toBeGreaterThanOrEqual(0)
    const use = new FadingMean(3_000, 4_000_000)
    expect(use.update(1, 0)).toBe(0)
    expect(use.update(1, 3_000)).toBeCloseTo(1 - Math.exp(-1))
  })
})
