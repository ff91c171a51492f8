import { describe, expect, it } from 'vitest'
import { createAddress, protocolVersion, type EngineAdvert, type ProcessAddress } from '../../src/engines/protocol.js'
import { Roster, type RosterOptions } from '../../src/engines/roster.js'
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

describe('an engine process that was silent', () => {
  it('has returned when it reports again, and another run of the same name has not', () => {
    const roster = new Roster()
    const joined: [string, boolean][] = []
    roster.onJoined = ({ address, hasReturned }) => joined.push([address.name, hasReturned])
    const engine = createAddress('one')
    const appear = (address: ProcessAddress): void => {
      roster.alive({ v: protocolVersion, engine: address, capacity: 1, used: 0, state: 'serving' })
      roster.models({ v: protocolVersion, engine: address, startedAtMs: 0, models: [callsModel] })
    }
    appear(engine)
    for (let tick = 0; tick < 10; tick += 1) roster.tick()
    expect(roster.engines).toEqual([])
    appear(engine)
    appear(createAddress('one'))
    expect(joined).toEqual([
      ['one', false],
      ['one', true],
      ['one', false],
    ])
  })
})

/** Two engines of a region each, of which the first has more places, and so is chosen while nothing else counts. */
const pairOf = (options: RosterOptions = {}) => {
  // Both of two candidates are compared.
  const roster = new Roster({ random: () => 0, ...options })
  const [large, small] = [createAddress('large'), createAddress('small')]
  const advertise = (engine: ProcessAddress, change: Partial<EngineAdvert> = {}): void => {
    const capacity = engine === large ? 9 : 2
    roster.alive({ v: protocolVersion, engine, capacity, used: 0, state: 'serving', ...change })
  }
  const appear = (engine: ProcessAddress): void => {
    advertise(engine)
    const region = engine === large ? 'eu' : 'us'
    roster.models({ v: protocolVersion, engine, startedAtMs: 0, region, models: [callsModel] })
  }
  for (const engine of [large, small]) appear(engine)
  const chosen = (): string | undefined => roster.choose(wanted, new Set())?.address.name
  const tick = (ticks: number, silent?: ProcessAddress): void => {
    for (let at = 0; at < ticks; at += 1) {
      roster.tick()
      for (const engine of [large, small]) if (engine !== silent) advertise(engine)
    }
  }
  return { roster, large, small, advertise, appear, chosen, tick }
}

describe('the newest content of a model', () => {
  it('is the one that was loaded last, whatever the clocks of the engine processes say', () => {
    const nowMs = 1_000_000
    const { roster, large, small, chosen } = pairOf({ now: () => nowMs })
    const load = (engine: ProcessAddress, digest: string, startedAtMs: number, ageMs: number): void =>
      roster.models({ v: protocolVersion, engine, startedAtMs, ageMs, models: [{ ...callsModel, digest }] })
    // The clock of one is half an hour ahead, that of the other one as much behind.
    load(large, 'old', nowMs + 1_800_000, 60_000)
    load(small, 'new', nowMs - 1_800_000, 0)
    expect(chosen()).toBe('small')
    load(large, 'newest', nowMs - 3_600_000, 0)
    load(small, 'new', nowMs + 1, 60_000)
    expect(chosen()).toBe('large')
  })
})

describe('an engine process that thins partials', () => {
  it('counts as long as it is there and serves the model', () => {
    const { roster, large, small, advertise } = pairOf()
    const thinned = () => roster.partialIntervalMs(wanted)
    const intervalMs = (ms: number) => ({ partialIntervalsMs: { [wanted.label]: ms } })
    expect(thinned()).toBe(0)
    advertise(large, intervalMs(2_000))
    advertise(small, intervalMs(1_000))
    advertise(small, intervalMs(1_000))
    expect(thinned()).toBe(2_000)
    advertise(large, { state: 'gone' })
    expect(thinned()).toBe(1_000)
    advertise(small)
    expect(thinned()).toBe(0)
  })

  it('thins those of the models that it names, and not of the others that it serves', () => {
    const { roster, large, advertise } = pairOf()
    advertise(large, { partialIntervalsMs: { 'Default/other/1': 2_000 } })
    expect(roster.partialIntervalMs(wanted)).toBe(0)
  })
})

describe('an engine process that is behind', () => {
  it('comes after one that is not, from a lag of more than 1 s until less than half of it', () => {
    const { large, advertise, chosen, roster } = pairOf()
    const chosenWith = (lagMs: number) => {
      advertise(large, { lagMs })
      return [chosen(), roster.serving(wanted)[0]?.isBehind]
    }
    expect(chosenWith(1_000)).toEqual(['small', false])
    expect(chosenWith(0)).toEqual(['large', false])
    expect(chosenWith(1_001)).toEqual(['small', true])
    expect(chosenWith(501)).toEqual(['small', true])
    expect(chosenWith(500)).toEqual(['small', false])
    // A small lag says less than the places.
    expect(chosenWith(250)).toEqual(['large', false])
  })

  it('is chosen when the other one has no place, and by its lag when both are behind', () => {
    const { large, small, advertise, chosen } = pairOf()
    advertise(large, { lagMs: 5_000 })
    advertise(small, { used: 2 })
    expect(chosen()).toBe('large')
    advertise(small, { lagMs: 4_000 })
    expect(chosen()).toBe('small')
    advertise(small, { lagMs: 4_900 })
    expect(chosen()).toBe('large')
  })

  it('comes before one that has just failed a segment', () => {
    const { roster, large, small, advertise, chosen } = pairOf()
    advertise(small, { lagMs: 5_000 })
    roster.failed(large)
    expect(chosen()).toBe('small')
  })

  it('comes after one of another region, if that is permitted', () => {
    for (const [otherRegions, name] of [
      [true, 'small'],
      [false, 'large'],
    ] as const) {
      const { large, advertise, chosen } = pairOf({ region: 'eu', otherRegions })
      expect(chosen()).toBe('large')
      advertise(large, { lagMs: 2_000 })
      expect(chosen()).toBe(name)
    }
  })

  it('is slow if its work continues, and hangs otherwise', () => {
    const { roster, large, advertise, tick } = pairOf()
    const work = (progress: number): boolean => {
      advertise(large, { lagMs: 2_000, progress })
      return roster.isSlow(large)
    }
    expect(work(1)).toBe(true)
    tick(99, large)
    expect(roster.isSlow(large)).toBe(false)
    const { roster: other, large: slow, advertise: tell } = pairOf()
    for (let at = 0; at < 200; at += 1) {
      other.tick()
      // A frame each 9.9 s.
      tell(slow, { lagMs: 2_000, progress: Math.floor(at / 99) })
      expect(other.isSlow(slow)).toBe(true)
    }
    for (let at = 0; at < 100; at += 1) {
      other.tick()
      tell(slow, { lagMs: 2_000, progress: 2 })
    }
    expect(other.isSlow(slow)).toBe(false)
  })

  it('has a faster one only if that has a place, and less than half of its lag', () => {
    const { roster, large, small, advertise } = pairOf()
    const isFaster = (change: Partial<EngineAdvert>): boolean => {
      advertise(small, change)
      return roster.hasFaster(wanted, large)
    }
    advertise(large, { lagMs: 1_500 })
    expect(isFaster({ lagMs: 600 })).toBe(true)
    expect(isFaster({ lagMs: 700 })).toBe(false)
    expect(isFaster({ lagMs: 0, used: 2 })).toBe(false)
    expect(isFaster({ lagMs: 0 })).toBe(true)
    roster.failed(small)
    expect(roster.hasFaster(wanted, large)).toBe(false)
  })
})

describe('an engine process that was silent', () => {
  it('rests for 10 s, then 20 s, unless it has had a result in between', () => {
    const { roster, large, appear, chosen, tick } = pairOf()
    /** How many ticks pass after its return until it is chosen. */
    const ticksOfRest = (): number => {
      tick(11, large)
      expect(roster.engines.map(({ address }) => address.name)).toEqual(['small'])
      appear(large)
      let ticks = 0
      while (chosen() !== 'large' && ticks < 10_000) {
        ticks += 1
        tick(1)
      }
      return ticks
    }
    expect([ticksOfRest(), ticksOfRest()]).toEqual([100, 200])
    roster.decided(large)
    expect(ticksOfRest()).toBe(100)
  })

  it('is chosen at once if no other one has a place, and does not rest if it was restarted', () => {
    const { roster, large, small, advertise, appear, chosen, tick } = pairOf()
    tick(11, large)
    appear(large)
    expect(chosen()).toBe('small')
    advertise(small, { used: 2 })
    expect(chosen()).toBe('large')
    advertise(large, { state: 'gone' })
    appear(large)
    advertise(small, { used: 0 })
    expect([chosen(), roster.engines.length]).toEqual(['large', 2])
  })
})
