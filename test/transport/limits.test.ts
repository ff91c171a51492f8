import { describe, expect, it } from 'vitest'
import { resolveLimits } from '../../src/transport/limits.js'
import { checkOption, durationMs } from '../../src/protocol/validation.js'

describe('resolveLimits', () => {
  it('has the documented defaults', () => {
    expect(resolveLimits({})).toEqual({
      maxMessageBytes: 1_048_576,
      highWaterMarkBytes: 262_144,
      lowWaterMarkBytes: 65_536,
      closeTimeoutMs: 2_000,
    })
  })

  it('sets the low-water mark to a quarter of the high-water mark', () => {
    expect(resolveLimits({ highWaterMarkBytes: 10 }).lowWaterMarkBytes).toBe(2)
  })
})

describe('timeoutMs', () => {
  it.each([0, -1, 1.5, NaN, Infinity, 2 ** 31])('rejects %d by the name of the option', (value) => {
    expect(() => checkOption('connectTimeoutMs', durationMs(1), value)).toThrow(
      expect.objectContaining({ code: 'invalid-options', message: expect.stringContaining('connectTimeoutMs') }),
    )
  })

  it('accepts the longest delay of a timer', () => {
    expect(checkOption('connectTimeoutMs', durationMs(1), 2 ** 31 - 1)).toBe(2 ** 31 - 1)
  })
})
