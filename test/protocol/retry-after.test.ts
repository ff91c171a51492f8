import { describe, expect, it } from 'vitest'
import { retryAfterMs, spreadRetryAfter } from '../../src/protocol/retry-after.js'

const nowMs = Date.UTC(2026, 0, 1, 12, 0, 0)

describe('retryAfterMs', () => {
  it.each([
    ['0', 0],
    ['30', 30_000],
    [' 7 ', 7000],
    ['Thu, 01 Jan 2026 12:00:05 GMT', 5000],
    ['Thursday, 01-Jan-26 12:00:05 GMT', 5000],
    ['Thu Jan  1 12:00:05 2026', 5000],
    ['Thu, 01 Jan 2026 11:00:00 GMT', 0],
    // No header makes a client wait longer than a day.
    ['9999999999', 86_400_000],
    ['9'.repeat(400), 86_400_000],
    ['Fri, 01 Jan 2100 12:00:00 GMT', 86_400_000],
  ])('reads %j', (header, expected) => {
    expect(retryAfterMs(header, nowMs)).toBe(expected)
  })

  it.each([undefined, null, '', 'soon', '-1', '1.5', '1e3', '0x10', '2026-01-01'])('ignores %j', (header) => {
    expect(retryAfterMs(header, nowMs)).toBeUndefined()
  })
})

describe('writes the Retry-After header', () => {
  it.each([
    [undefined, '1', '3'],
    [0, '1', '3'],
    [1_001, '2', '4'],
    [60_000, '60', '66'],
  ])('for %s ms is between %s and %s seconds', (waitMs, min, max) => {
    expect(spreadRetryAfter(waitMs, () => 0)).toBe(min)
    expect(spreadRetryAfter(waitMs, () => 0.999)).toBe(max)
    expect(retryAfterMs(spreadRetryAfter(waitMs), 0)).toBeGreaterThanOrEqual(waitMs ?? 1_000)
  })
})
