import { asyncScheduler } from 'rxjs'
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

  it('sets no timer longer than the platform allows, and clears it on unsubscribe', () => {
    const delays: number[] = []
    const spy = vi.spyOn(asyncScheduler, 'schedule').mockImplementation((...[, delayMs]) => {
      delays.push(delayMs ?? 0)
      return { unsubscribe: () => delays.push(-1) } as never
    })
    longTimer(365 * dayMs, asyncScheduler)
      .subscribe()
      .unsubscribe()
    spy.mockRestore()
    expect(delays).toEqual([maxTimerMs, -1])
  })
})
