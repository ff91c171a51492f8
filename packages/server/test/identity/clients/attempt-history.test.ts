import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createFailureLimit } from '../../../src/identity/clients/attempt-history.js'

describe('createFailureLimit', () => {
  it('waits for the end of the minute that began with the first failure', () => {
    let nowMs = 1000
    const limit = createFailureLimit({ failuresPerMinute: 2, now: () => nowMs })
    limit.record(['a'])
    nowMs += 10_000
    expect(limit.retryAfterMs(['a'])).toBe(0)
    limit.record(['a', 'b'])
    expect(limit.retryAfterMs(['a'])).toBe(50_000)
    expect(limit.retryAfterMs(['b'])).toBe(0)
    expect(limit.retryAfterMs(['b', 'a'])).toBe(50_000)
    nowMs += 50_000
    expect(limit.retryAfterMs(['a'])).toBe(0)
    limit.record(['a'])
    expect(limit.retryAfterMs(['a'])).toBe(0)
  })

  it('never keeps more keys than its limit, and forgets the oldest first', () => {
    const limit = createFailureLimit({ failuresPerMinute: 1, maxKeys: 3, now: () => 0 })
    for (const key of ['a', 'b', 'c', 'd']) limit.record([key])
    expect(limit.size).toBe(3)
    expect(['a', 'b', 'c', 'd'].map((key) => limit.retryAfterMs([key]) > 0)).toStrictEqual([false, true, true, true])
  })

  it('keeps to its bound with any attempts', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(20), fc.nat(30_000))), (failures) => {
        let nowMs = 0
        const limit = createFailureLimit({ failuresPerMinute: 2, maxKeys: 5, now: () => nowMs })
        return failures.every(([key, passedMs]) => {
          nowMs += passedMs
          limit.record([String(key), 'address'])
          return limit.size <= 5 && limit.retryAfterMs([String(key)]) <= 60_000
        })
      }),
    )
  })
})
