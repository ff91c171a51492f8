import { describe, expect, it } from 'vitest'
import { backoffMs } from '../../src/kernel/backoff.js'

const options = { firstDelayMs: 100, maxDelayMs: 1000 }

describe('backoffMs', () => {
  it('doubles the delay up to its maximum, at any attempt', () => {
    const delays = [1, 2, 3, 4, 5, 500, 5000].map((attempt) => backoffMs(options, attempt, () => 1))
    expect(delays).toEqual([100, 200, 400, 800, 1000, 1000, 1000])
  })

  it('draws from the whole length of the delay', () => {
    expect([0, 0.25, 0.5, 0.999].map((drawn) => backoffMs(options, 3, () => drawn))).toEqual([0, 100, 200, 400])
  })
})
