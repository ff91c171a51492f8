import { asyncScheduler } from 'rxjs'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { later } from '../../src/time/later.js'
import { longestTimerMs } from '../../src/time/longest-timer.js'
import { virtually } from '../session/virtual-session.js'

const yearMs = 365 * 24 * 60 * 60 * 1000

describe('later', () => {
  afterEach(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
  })

  it.each([1, 20, longestTimerMs, longestTimerMs + 1, yearMs])('acts once, %s ms later, by any clock', (delayMs) => {
    virtually(({ clock }) => {
      const startMs = clock.now()
      const acted: number[] = []
      later(clock, delayMs, () => acted.push(clock.now() - startMs), 'holds the process')
      return () => expect(acted).toEqual([delayMs])
    })
    vi.useFakeTimers()
    let acted = 0
    later(asyncScheduler, delayMs, () => (acted += 1), 'holds the process')
    vi.advanceTimersByTime(Math.max(0, delayMs - 1))
    expect(acted).toBe(0)
    vi.advanceTimersByTime(1)
    expect([acted, vi.getTimerCount()]).toEqual([1, 0])
  })

  it('asks no timer for more than it can hold', () => {
    const asked = vi.spyOn(globalThis, 'setTimeout')
    later(asyncScheduler, yearMs, () => undefined, 'lets the process end').unsubscribe()
    expect(asked.mock.calls.map(([, delayMs]) => delayMs)).toEqual([longestTimerMs])
  })

  it('has no timer once it is ended, also in a later step of a long wait, nor for Infinity', () => {
    vi.useFakeTimers()
    const waiting = later(asyncScheduler, yearMs, () => expect.unreachable(), 'holds the process')
    vi.advanceTimersByTime(longestTimerMs + 10)
    expect(vi.getTimerCount()).toBe(1)
    waiting.unsubscribe()
    later(asyncScheduler, Infinity, () => expect.unreachable(), 'holds the process')
    expect(vi.getTimerCount()).toBe(0)
  })

  it.each([
    ['holds the process', true],
    ['lets the process end', false],
  ] as const)('%s', (hold, isRef) => {
    const asked = vi.spyOn(globalThis, 'setTimeout')
    const waiting = later(asyncScheduler, 1_000, () => undefined, hold)
    const timer = asked.mock.results[0]?.value as NodeJS.Timeout
    expect(timer.hasRef()).toBe(isRef)
    waiting.unsubscribe()
  })
})
