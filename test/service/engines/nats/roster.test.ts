import { describe, expect, it } from 'vitest'
import { createAddress, protocolVersion } from '../../../../src/service/engines/nats/protocol.js'
import { Roster } from '../../../../src/service/engines/nats/roster.js'
import { callsModel } from './virtual-fleet.js'

const wanted = { label: 'Default/calls/1', sampleRateHz: 8000 }

describe('an engine process that fails segments', () => {
  it('is tried again after 10 s, then 20 s, then 40 s, up to 320 s, and after a result from 10 s on', () => {
    // Both of two candidates are compared, so the one with more places is always chosen.
    const roster = new Roster({ random: () => 0 })
    const failing = createAddress('failing')
    const other = createAddress('other')
    const advertise = (): void => {
      for (const [engine, capacity] of [[failing, 9] as const, [other, 1] as const]) {
        roster.alive({ v: protocolVersion, engine, capacity, used: 0, state: 'serving' })
      }
    }
    advertise()
    for (const engine of [failing, other]) {
      roster.models({ v: protocolVersion, engine, startedAtMs: 0, models: [callsModel] })
    }
    const isChosen = (): boolean => roster.choose(wanted, new Set())?.address === failing
    /** How many ticks pass until it is tried again after it has failed two segments. */
    const ticksAfterFailures = (): number => {
      roster.failed(failing)
      roster.failed(failing)
      let ticks = 0
      while (!isChosen() && ticks < 10_000) {
        ticks += 1
        roster.tick()
        advertise()
      }
      return ticks
    }
    expect(isChosen()).toBe(true)
    const untilTried = Array.from({ length: 7 }, ticksAfterFailures)
    expect(untilTried).toEqual([100, 200, 400, 800, 1_600, 3_200, 3_200])
    roster.decided(failing)
    expect([ticksAfterFailures(), ticksAfterFailures()]).toEqual([100, 200])
  })
})
