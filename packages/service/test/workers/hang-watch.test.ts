import { beforeEach, describe, expect, it } from 'vitest'
import { HangWatch } from '../../src/workers/hang-watch.js'
import { flushPromises, VirtualClock } from '../virtual-clock.js'

let clock: VirtualClock
let isAnswering: boolean
let killed: string[]
let watch: HangWatch
beforeEach(() => {
  clock = new VirtualClock()
  isAnswering = true
  killed = []
  const ask = (): Promise<unknown> => (isAnswering ? Promise.resolve() : new Promise(() => undefined))
  watch = new HangWatch(ask, (why) => killed.push(why), clock)
})

/** Lets time pass in steps of a second; answers arrive between them. */
const pass = async (seconds: number): Promise<void> => {
  const fromMs = clock.now()
  for (let second = 1; second <= seconds; second += 1) {
    clock.advanceTo(fromMs + 1000 * second)
    await flushPromises()
  }
}

describe('HangWatch', () => {
  it('lets a worker run that answers', async () => {
    watch.opened()
    await pass(120)
    expect(killed).toEqual([])
    expect(watch.isLate).toBe(false)
  })

  it('kills a worker once that answers no more, and before that says that it is late', async () => {
    watch.opened()
    await pass(4)
    isAnswering = false
    await pass(2)
    expect(watch.isLate).toBe(false)
    await pass(2)
    expect(watch.isLate).toBe(true)
    await pass(7)
    expect(killed).toEqual([])
    await pass(120)
    expect(killed).toEqual(['it did not answer for 10 s'])
    expect(clock.waiting).toBe(0)
  })

  it('begins to count again with each answer', async () => {
    watch.opened()
    for (let turn = 0; turn < 5; turn += 1) {
      isAnswering = false
      await pass(9)
      isAnswering = true
      await pass(3)
    }
    expect(killed).toEqual([])
  })

  it('kills a worker that does not start in time, and not one that does', async () => {
    await pass(179)
    expect(killed).toEqual([])
    await pass(2)
    expect(killed).toEqual(['it did not start within 180 s'])
    killed = []
    const other = new HangWatch(
      () => Promise.resolve(),
      (why) => killed.push(why),
      clock,
    )
    other.opened()
    await pass(200)
    expect(killed).toEqual([])
  })

  it('has no timer after it stops', () => {
    watch.stop()
    expect(clock.waiting).toBe(0)
    watch.opened()
    watch.stop()
    expect(clock.waiting).toBe(0)
  })
})
