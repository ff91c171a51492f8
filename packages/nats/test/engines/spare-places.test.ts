import { afterEach, describe, expect, it } from 'vitest'
import type { Engine } from '../../../engines/src/engine.js'
import { attemptSubject, encodeRequest, engineSubject } from '../../src/engines/protocol.js'
import { countingEngine } from './counting-engine.js'
import { closeFleet, newFleet } from './fleet-of.js'
import { callsModel, Lane, type VirtualFleet } from './virtual-fleet.js'

afterEach(closeFleet)

const spareEngine = ({ models }: VirtualFleet): Promise<Engine> | undefined => {
  const model = models.find({ tenant: callsModel.tenant, name: callsModel.name })
  return model && models.spareEngine?.(model)
}
const spareLane = async (fleet: VirtualFleet): Promise<Lane> => {
  const engine = await spareEngine(fleet)
  if (engine === undefined) throw new Error('no spare place')
  return new Lane(fleet, engine)
}

describe('a segment in a spare place', () => {
  it('is read like any other while half of the places are free, and has none otherwise', async () => {
    const fleet = newFleet()
    expect(spareEngine(fleet)).toBeUndefined()
    const { engine } = fleet.startEngine({ capacity: 4 })
    await fleet.pass(300)
    const session = await fleet.openLane()
    session.open()
    await session.speak(300)
    const spare = await spareLane(fleet)
    spare.open()
    await spare.speak(300)
    expect(engine.open()).toBe(2)
    expect(spareEngine(fleet)).toBeUndefined()
    const expected = spare.end()
    await fleet.pass(100)
    expect(spare.texts).toEqual([expected])
    expect(spareEngine(fleet)).toBeDefined()
  })

  it('has none while the engine process is behind, or another segment waits', async () => {
    const fleet = newFleet()
    let lagMs = 0
    fleet.startEngine({ capacity: 4, work: () => ({ lagMs, progress: 1 }) })
    await fleet.pass(300)
    expect(spareEngine(fleet)).toBeDefined()
    lagMs = 5_000
    await fleet.pass(600)
    expect(spareEngine(fleet)).toBeUndefined()
    lagMs = 0
    await fleet.pass(600)
    expect(spareEngine(fleet)).toBeDefined()
    fleet.startEngine({ capacity: 1, model: { ...callsModel, name: 'other' } })
    await fleet.pass(600)
    const other = await fleet.engineOf('other')
    for (const lane of [new Lane(fleet, other), new Lane(fleet, other)]) {
      lane.open()
      lane.write()
    }
    await fleet.pass(100)
    expect(fleet.fleet.waiting).toBe(1)
    expect(spareEngine(fleet)).toBeUndefined()
  })

  it('has none at engine processes with another model, and says nothing about one that fails', async () => {
    const fleet = newFleet()
    const engine = countingEngine(fleet.clock)
    const other = { ...callsModel, name: 'other' }
    const both = [callsModel, other].map((advert) => ({ advert, engine }))
    fleet.startEngine({ capacity: 40, models: both })
    await fleet.pass(300)
    expect(spareEngine(fleet)).toBeUndefined()
    const broken = countingEngine(fleet.clock, { fails: true })
    fleet.startEngine({ capacity: 40, engine: broken })
    await fleet.pass(300)
    for (let at = 0; at < 3; at += 1) {
      const spare = await spareLane(fleet)
      spare.open()
      await spare.speak(200)
      expect(spare.error).toMatchObject({ code: 'engine-failed' })
    }
    expect([engine.opened(), broken.opened()]).toEqual([0, 3])
    expect(fleet.fleet.counts.lost).toEqual({})
    // Otherwise it would come after the other one for sessions, too.
    expect(fleet.fleet.roster.serving({ label: 'Default/calls/1' })).toMatchObject([
      { failedTicks: 0 },
      { failedTicks: 0 },
    ])
  })

  it('never waits: it fails as overloaded if others have taken the place', async () => {
    const fleet = newFleet()
    const { host } = fleet.startEngine({ capacity: 4 })
    await fleet.pass(300)
    const spare = await spareLane(fleet)
    const other = fleet.broker.connect()
    for (const attempt of [1, 2, 3, 4]) {
      const replyTo = attemptSubject({ name: 'other', instance: '00000000000000bb' }, attempt)
      other.messages(replyTo).subscribe()
      const open = encodeRequest({ type: 'open', v: 1, model: 'Default/calls/1', startMs: 0 })
      other.publish(engineSubject(host.address), open, replyTo)
    }
    fleet.advance(2)
    expect(host.used).toBe(4)
    spare.open()
    spare.write()
    await fleet.pass(20)
    expect(spare.error).toMatchObject({ code: 'overloaded' })
    expect(fleet.fleet.waiting).toBe(0)
  })

  it('is not tried again when it fails', async () => {
    const fleet = newFleet()
    const engine = countingEngine(fleet.clock, { fails: true })
    fleet.startEngine({ capacity: 4, engine })
    await fleet.pass(300)
    const spare = await spareLane(fleet)
    spare.open()
    await spare.speak(300)
    expect(spare.error).toMatchObject({ code: 'engine-failed' })
    expect(engine.opened()).toBe(1)
    expect(fleet.faults).toEqual([])
  })
})
