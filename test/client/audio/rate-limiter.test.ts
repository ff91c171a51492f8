import { VirtualTimeScheduler } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { RateLimiter } from '../../../src/client/audio/rate-limiter.js'

/** A millisecond is 16 bytes. */
const bytesPerMs = 16
const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 } as const

/** The delays in milliseconds after audio of each length was sent at its time. */
const waits = (sent: readonly (readonly [atMs: number, durationMs: number])[]): readonly number[] => {
  const scheduler = new VirtualTimeScheduler()
  const found: number[] = []
  scheduler.schedule(() => {
    const pace = new RateLimiter(format, scheduler, true)
    for (const [atMs, durationMs] of sent) {
      scheduler.schedule(() => {
        pace.sent(durationMs * bytesPerMs)
        found.push(pace.waitMs)
      }, atMs)
    }
  }, 7_777)
  scheduler.flush()
  return found
}

describe('the rate of replayed audio', () => {
  it('passes four seconds immediately', () => {
    expect(waits([[0, 3_000]])).toEqual([0])
    expect(
      waits([
        [0, 3_000],
        [0, 1_000],
      ]),
    ).toEqual([0, 0])
  })

  it('passes the rest 1.2 times as fast as it was captured, and never too early', () => {
    expect(waits([[0, 5_200]])).toEqual([1_000])
    // 1000.83 ms
    expect(
      waits([
        [0, 5_200],
        [0, 1],
      ]),
    ).toEqual([1_000, 1_001])
  })

  it('counts the time since it started', () => {
    expect(
      waits([
        [0, 5_200],
        [400, 0],
        [1_000, 0],
        [1_000, 360],
      ]),
    ).toEqual([1_000, 600, 0, 300])
  })

  it('delays by at least 200 ms, so that several messages are sent together', () => {
    expect(waits([[0, 4_001]])).toEqual([200])
    expect(waits([[0, 4_264]])).toEqual([220])
  })

  it('never asks for a negative delay, however long nothing was sent', () => {
    expect(waits([[60_000, 20]])).toEqual([0])
  })
})
