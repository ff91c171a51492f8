import { describe, expect, it, vi } from 'vitest'
import { longTimer, maxTimerMs } from '../../src/kernel/timers.js'
import { marbles } from '../operators/marbles.js'

const dayMs = 24 * 60 * 60 * 1000

describe('longTimer', () => {
  it.each([0, 20, maxTimerMs, maxTimerMs + 1, 365 * dayMs])('emits once after %s ms and completes', (delayMs) => {
    marbles(({ scheduler, expectObservable }) => {
      expectObservable(longTimer(delayMs, scheduler)).toBe(`${delayMs}ms (a|)`, { a: undefined })
    })
  })

  it('emits at once for a delay in the past', () => {
    marbles(({ scheduler, expectObservable }) => {
      expectObservable(longTimer(-5, scheduler)).toBe('(a|)', { a: undefined })
    })
  })

  it('never emits and holds no timer for Infinity', () => {
    vi.useFakeTimers()
    const subscription = longTimer(Infinity).subscribe()
    expect(vi.getTimerCount()).toBe(0)
    subscription.unsubscribe()
    vi.useRealTimers()
  })

  it('sets no timer longer than the platform allows, keeps the process alive, and clears it on unsubscribe', () => {
    const asked = vi.spyOn(globalThis, 'setTimeout')
    const cleared = vi.spyOn(globalThis, 'clearTimeout')
    const subscription = longTimer(365 * dayMs).subscribe()
    expect(asked.mock.calls.map(([, delayMs]) => delayMs)).toEqual([maxTimerMs])
    const timer = asked.mock.results[0]?.value as NodeJS.Timeout
    expect(timer.hasRef()).toBe(true)
    subscription.unsubscribe()
    expect(cleared).toHaveBeenCalledWith(timer)
    vi.restoreAllMocks()
  })
})
