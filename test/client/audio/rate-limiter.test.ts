import { VirtualTimeScheduler } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { RateLimiter } from '../../../src/client/audio/rate-limiter.js'

/** A millisecond is 16 bytes. */
const bytesPerMs = 16
const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 } as const

/** What has to be waited after audio of each length was sent at its time, in milliseconds. */
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

describe('the pace of what is sent again', () => {
  it('lets four seconds through at once', () => {
    expect(waits([[0, 3_000]])).toEqual([0])
    expect(
      waits([
        [0, 3_000],
        [0, 1_000],
      ]),
    ).toEqual([0, 0])
  })

  it('lets the rest through 1.2 times as fast as it was spoken, and never too early', () => {
    expect(waits([[0, 5_200]])).toEqual([1_000])
    // 1000.83 ms
    expect(
      waits([
        [0, 5_200],
        [0, 1],
      ]),
    ).toEqual([1_000, 1_001])
  })

  it('counts the time since it began', () => {
    expect(
      waits([
        [0, 5_200],
        [400, 0],
        [1_000, 0],
        [1_000, 360],
      ]),
    ).toEqual([1_000, 600, 0, 300])
  })

  it('has who must wait wait 200 ms at least, so that several messages go at once', () => {
    expect(waits([[0, 4_001]])).toEqual([200])
    expect(waits([[0, 4_264]])).toEqual([220])
  })

  it('never asks for less than no wait, however long nothing was sent', () => {
    expect(waits([[60_000, 20]])).toEqual([0])
  })
})
