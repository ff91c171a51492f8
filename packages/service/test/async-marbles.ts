import { expect } from 'vitest'
import { LongTestScheduler } from '../../../test/long-test-scheduler.js'
import type { MarbleHelpers } from '../../../test/operators/marbles.js'
import { flushPromises } from './virtual-clock.js'

/**
 * Runs a marble test of an asynchronously opened source. Virtual time waits after each frame until every promise that
 * can settle has settled, so its diagrams are those of a source that opens synchronously. `draw` creates sources and
 * observers and returns a function with the expectations, which runs when virtual time has reached `untilMs`.
 */
export const asyncMarbles = async (draw: (helpers: MarbleHelpers) => () => void, untilMs = 1000): Promise<void> => {
  const scheduler = new LongTestScheduler((actual, expected) => expect(actual).toEqual(expected))
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
