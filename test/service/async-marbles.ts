import { TestScheduler } from 'rxjs/testing'
import { expect } from 'vitest'
import type { MarbleHelpers } from '../operators/marbles.js'
import { flushPromises } from './virtual-clock.js'

/**
 * Runs a marble test of something that opens by a promise. Virtual time stands still after each frame until every promise
 * that can settle has, so its diagrams are those of something that opens at once. `draw` lays out sources and observers and
 * gives back what is to be expected of them, which is looked at when virtual time has come to `untilMs`.
 */
export const asyncMarbles = async (draw: (helpers: MarbleHelpers) => () => void, untilMs = 1000): Promise<void> => {
  const scheduler = new TestScheduler((actual, expected) => expect(actual).toEqual(expected))
  const expectations = scheduler.run((helpers) => {
    scheduler.maxFrames = -1
    return draw({ ...helpers, scheduler })
  })
  for (;;) {
    await flushPromises()
    const [next] = scheduler.actions
    if (next === undefined || next.delay > untilMs) break
    scheduler.maxFrames = next.delay
    scheduler.flush()
  }
  scheduler.run(() => {
    scheduler.maxFrames = untilMs
    expectations()
  })
}
