import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { within } from '../src/within.js'

describe('within', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('has the outcome of work that ends in time, and clears its timer', async () => {
    await expect(within(Promise.resolve(3), 1_000)).resolves.toBe(3)
    await expect(within(Promise.reject(new Error('no')), 1_000)).rejects.toThrow('no')
    expect(vi.getTimerCount()).toBe(0)
  })

  it('is late once the time is over, and ignores what the work does then', async () => {
    let fail = (_error: Error): void => undefined
    const outcome = within(new Promise<number>((_resolve, reject) => (fail = reject)), 1_000)
    await vi.advanceTimersByTimeAsync(1_000)
    fail(new Error('too late'))
    await expect(outcome).resolves.toBe('late')
  })
})
