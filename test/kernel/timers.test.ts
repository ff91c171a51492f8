import { asyncScheduler } from 'rxjs'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { maxTimerMs, schedule } from '../../src/kernel/timers.js'
import { virtually } from '../client/virtual-session.js'

const yearMs = 365 * 24 * 60 * 60 * 1000

describe('schedule', () => {
  afterEach(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
  })

  it.each([1, 20, maxTimerMs, maxTimerMs + 1, yearMs])('calls back once, %s ms later, with any clock', (delayMs) => {
    virtually(({ clock }) => {
      const startMs = clock.now()
      const acted: number[] = []
      schedule(clock, delayMs, () => acted.push(clock.now() - startMs))
      return () => expect(acted).toEqual([delayMs])
    })
    vi.useFakeTimers()
    let acted = 0
    schedule(asyncScheduler, delayMs, () => (acted += 1))
    vi.advanceTimersByTime(Math.max(0, delayMs - 1))
    expect(acted).toBe(0)
    vi.advanceTimersByTime(1)
    expect([acted, vi.getTimerCount()]).toEqual([1, 0])
  })

  it('sets no timer longer than the platform allows', () => {
    const asked = vi.spyOn(globalThis, 'setTimeout')
    schedule(asyncScheduler, yearMs, () => undefined).unsubscribe()
    expect(asked.mock.calls.map(([, delayMs]) => delayMs)).toEqual([maxTimerMs])
  })

  it('clears its timer when it is cancelled, also in a later step of a long wait, and sets none for Infinity', () => {
    vi.useFakeTimers()
    const waiting = schedule(asyncScheduler, yearMs, () => expect.unreachable())
    vi.advanceTimersByTime(maxTimerMs + 10)
    expect(vi.getTimerCount()).toBe(1)
    waiting.unsubscribe()
    schedule(asyncScheduler, Infinity, () => expect.unreachable())
    expect(vi.getTimerCount()).toBe(0)
  })

  it.each([true, false])('keeps the process alive where ref is %s', (ref) => {
    const asked = vi.spyOn(globalThis, 'setTimeout')
    const waiting = schedule(asyncScheduler, 1_000, () => undefined, { ref })
    const timer = asked.mock.results[0]?.value as NodeJS.Timeout
    expect(timer.hasRef()).toBe(ref)
    waiting.unsubscribe()
  })
})
