import { afterEach, expect, it } from 'vitest'
import { ClockDifference } from '../../src/engines/clock-difference.js'
import { aliveSubject, createAddress, decodeEngineAdvert, protocolVersion } from '../../src/engines/protocol.js'
import { Roster } from '../../src/engines/roster.js'
import { callsModel, VirtualFleet } from './virtual-fleet.js'

let fleet: VirtualFleet | undefined
afterEach(() => fleet?.close())

it('reports a change at once, and sends at most four adverts a second, and at least two', async () => {
  const all = (fleet = new VirtualFleet())
  const adverts: { readonly atMs: number; readonly used: number }[] = []
  all.edgeBus.messages(aliveSubject('*')).subscribe((message) => {
    const { used = NaN } = decodeEngineAdvert(message) ?? {}
    adverts.push({ atMs: all.clock.now(), used })
  })
  all.startEngine({ capacity: 100 })
  const within = async (ms: number, act = (): Promise<void> => Promise.resolve()): Promise<readonly number[]> => {
    const before = adverts.length
    const endMs = all.clock.now() + ms
    await act()
    await all.pass(endMs - all.clock.now())
    return adverts.slice(before).map(({ used }) => used)
  }
  await within(1_000)
  // From the start on: it also answers services that ask who is there.
  adverts.splice(0, adverts.length - 1)
  expect((await within(4_000)).length).toBe(10)

  const lanes = await Promise.all(Array.from({ length: 40 }, () => all.openLane()))
  while ((await within(20)).length === 0);
  await all.pass(260)
  lanes[0]?.open()
  expect(await within(100)).toEqual([1])
  const busy = await within(2_000, async () => {
    for (const lane of lanes.slice(1)) {
      lane.open()
      await all.pass(40)
    }
  })
  expect(busy).toHaveLength(8)
  expect(busy.at(-1)).toBe(40)
  const gapsMs = adverts.slice(1).map(({ atMs }, index) => atMs - (adverts[index]?.atMs ?? NaN))
  expect(Math.min(...gapsMs)).toBeGreaterThanOrEqual(240)
  for (const lane of lanes) lane.abort()
})

it('takes the fastest message of the last minute or two for the difference of two clocks', () => {
  const clock = new ClockDifference()
  expect(clock.aheadMs).toBeUndefined()
  clock.arrived(90_000, 700)
  clock.arrived(90_250, 251)
  clock.arrived(90_500, 9_000)
  expect(clock.aheadMs).toBe(89_999)
  for (let sent = 0; sent < 400; sent += 1) clock.arrived(1_000, 3_005)
  expect(clock.aheadMs).toBe(-2_005)
})

it('reports an engine process whose clock differs by more than 60 s, once until it is right again', () => {
  let nowMs = 1e12
  const roster = new Roster({ now: () => nowMs })
  const reported: [name: string, aheadMs: number | undefined][] = []
  roster.onClock = ({ address, clockAheadMs }) => reported.push([address.name, clockAheadMs])
  const [right, wrong, old] = ['right', 'wrong', 'old'].map((name) => createAddress(name))
  if (right === undefined || wrong === undefined || old === undefined) throw new Error('There are three.')
  const advertise = (aheadMs: number): void => {
    nowMs += 250
    const advert = { v: protocolVersion, capacity: 1, used: 0, state: 'serving' } as const
    roster.alive({ ...advert, engine: right, sentAtMs: nowMs - 60_000 })
    roster.alive({ ...advert, engine: wrong, sentAtMs: nowMs + aheadMs })
    roster.alive({ ...advert, engine: old })
  }
  for (const engine of [right, wrong, old]) {
    roster.models({ v: protocolVersion, engine, startedAtMs: 0, models: [callsModel] })
  }
  for (let count = 0; count < 10; count += 1) advertise(60_001)
  expect(reported).toEqual([['wrong', 60_001]])
  expect(roster.engines.map(({ clockAheadMs }) => clockAheadMs)).toEqual([-60_000, 60_001, undefined])
  for (let count = 0; count < 400; count += 1) advertise(0)
  advertise(70_000)
  expect(reported).toHaveLength(2)
})
