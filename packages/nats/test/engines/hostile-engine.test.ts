import { afterEach, describe, expect, it } from 'vitest'
import {
  aliveSubject,
  encodeJson,
  modelsSubject,
  whoSubject,
  type AdvertisedModel,
  type ProcessAddress,
} from '../../src/engines/protocol.js'
import type { FleetOptions } from '../../src/engines/fleet.js'
import { NamePrecedence } from '../../src/engines/model-names.js'
import { Roster } from '../../src/engines/roster.js'
import type { FakeBus } from './fake-broker.js'
import { closeFleet, newFleet } from './fleet-of.js'
import { callsModel, type VirtualFleet } from './virtual-fleet.js'

afterEach(closeFleet)

const latestMs = 8.64e15
const calls = { tenant: 'Default', name: 'calls' }

interface Claims {
  readonly name?: string
  readonly index?: number
  readonly models?: readonly AdvertisedModel[]
  readonly startedAtMs?: number
  readonly capacity?: number
}

const addressOf = (name: string, index: number): ProcessAddress => ({
  name,
  instance: index.toString(16).padStart(16, '0'),
})

/** The adverts of a process that the user of a name makes up. */
const claim = (
  bus: FakeBus,
  { name = 'hostile', index = 0, models = [callsModel], startedAtMs = latestMs, capacity = 1_000 }: Claims = {},
): void => {
  const engine = addressOf(name, index)
  bus.publish(modelsSubject(name), encodeJson({ v: 1, engine, startedAtMs, models }))
  bus.publish(aliveSubject(name), encodeJson({ v: 1, engine, capacity, used: 0, state: 'serving' }))
}

const madeUp = (count: number, from = 0): readonly AdvertisedModel[] =>
  Array.from({ length: count }, (_none, index) => ({ ...callsModel, name: `made-up-${from + index}` }))

/** Requests that were sent to processes of a name. */
const sentTo = ({ broker }: VirtualFleet, name: string): number =>
  broker.posted.filter(({ subject }) => subject.startsWith(`rxspeech.engine.${name}.`)).length

/** An edge with an engine process named engine-0, and a bus of another user, whose name is `hostile`. */
const attacked = async (options: Partial<FleetOptions> = {}) => {
  const fleet = newFleet(options)
  const { engine } = fleet.startEngine()
  await fleet.pass(300)
  const bus = fleet.broker.connect()
  /** How many segments of ten the engine gets, while the adverts go on. */
  const segmentsAtEngine = async (claims: Claims = {}): Promise<number> => {
    const before = engine.opened()
    for (let at = 0; at < 10; at += 1) {
      claim(bus, claims)
      await fleet.pass(20)
      const lane = await fleet.openLane()
      lane.open()
      await lane.speak(100)
      lane.abort()
      await fleet.pass(100)
    }
    return engine.opened() - before - sentTo(fleet, 'hostile')
  }
  return { fleet, bus, segmentsAtEngine }
}

describe('the user of another engine process', () => {
  it('gets no segment of a model that its name may not offer, also as the newest and the largest', async () => {
    const { fleet, segmentsAtEngine } = await attacked({ models: { 'engine-0': ['*'], hostile: ['acme/*'] } })
    expect(await segmentsAtEngine({ models: [{ ...callsModel, digest: 'forged' }] })).toBe(10)
    // Nor of a later version, which sessions would get that name none.
    expect(await segmentsAtEngine({ models: [{ ...callsModel, version: '999' }] })).toBe(10)
    expect(fleet.models.find(calls)).toMatchObject({ version: '1' })
    claim(fleet.broker.connect(), { models: [{ ...callsModel, tenant: 'acme' }] })
    await fleet.pass(200)
    expect(fleet.models.find({ ...calls, tenant: 'acme' })).toBeDefined()
  })

  it('gets none either without a list of names while the name that offered the model first has a process', async () => {
    const { fleet, segmentsAtEngine } = await attacked({ prefersFirstName: true })
    expect(await segmentsAtEngine({ models: [{ ...callsModel, digest: 'forged' }] })).toBe(10)
    expect(await segmentsAtEngine({ models: [{ ...callsModel, version: '999' }] })).toBe(10)
    expect(fleet.models.find(calls)).toMatchObject({ version: '1' })
  })

  it('is reported, once a minute', async () => {
    const faults: unknown[] = []
    const onFault = (error: unknown): void => void faults.push(error)
    const { fleet, bus } = await attacked({ models: { 'engine-0': ['*'] }, onFault })
    for (let at = 0; at < 100; at += 1) {
      claim(bus)
      await fleet.pass(100)
    }
    expect(faults).toMatchObject([
      {
        code: 'refused',
        message:
          'The engine process hostile offers Default/calls/1, which engines.nats.models does not list for this name; it is not used for it.',
      },
    ])
    await fleet.pass(60_000)
    claim(bus)
    await fleet.pass(20)
    expect(faults).toHaveLength(2)
  })

  it('cannot end the engine processes of other names', async () => {
    const { fleet, bus } = await attacked()
    const [known] = fleet.fleet.roster.engines
    const instance = known?.address.instance ?? ''
    const forged = { v: 1, engine: { name: 'hostile', instance }, capacity: 0, used: 0, state: 'gone' } as const
    bus.publish(aliveSubject('hostile'), encodeJson(forged))
    await fleet.pass(20)
    expect(fleet.fleet.roster.engines).toEqual([known])
  })

  it('cannot hide new engine processes behind 5,000 made-up ones, or push out known ones', () => {
    const roster = new Roster()
    const join = (name: string, index: number): void => {
      const engine = addressOf(name, index)
      roster.models({ v: 1, engine, startedAtMs: 0, models: [callsModel] })
      roster.alive({ v: 1, engine, capacity: 1, used: 0, state: 'serving' })
    }
    const namesIn = (): readonly string[] => roster.engines.map(({ address }) => address.name)
    join('known', 9_000)
    for (let index = 0; index < 5_000; index += 1) join('hostile', index)
    join('late', 9_001)
    join('known', 9_002)
    expect(namesIn().filter((name) => name !== 'hostile')).toEqual(['known', 'late', 'known'])
    expect(namesIn()).toHaveLength(3 + 512)
    // Nor by their turn-over: those that are silent make room.
    for (let tick = 0; tick < 10; tick += 1) {
      for (const [name, index] of [['known', 9_000] as const, ['late', 9_001] as const]) join(name, index)
      roster.tick()
    }
    join('hostile', 6_000)
    expect(namesIn()).toEqual(['known', 'late', 'hostile'])
  })

  it('has at most 200 models of each process in use, 800 of its name, and all processes 1,000', async () => {
    const { fleet, bus } = await attacked()
    claim(bus, { models: madeUp(250) })
    await fleet.pass(200)
    expect(fleet.models.list()).toHaveLength(201)
    const claimAll = async (name: string, from: number): Promise<void> => {
      for (let index = from; index < from + 8; index += 1) claim(bus, { name, index, models: madeUp(250, index * 250) })
      await fleet.pass(100)
    }
    await claimAll('hostile', 0)
    expect(fleet.models.list()).toHaveLength(801)
    for (let at = 0; at < 3; at += 1) {
      await claimAll('hostile', 0)
      await claimAll('another', 8)
    }
    expect(fleet.models.list()).toHaveLength(1_000)
    expect(fleet.models.find(calls)).toBeDefined()
  })

  it('has models that it made up and withdrew forgotten before those of others', async () => {
    const { fleet, bus } = await attacked()
    for (let at = 0; at < 20; at += 1) {
      claim(bus, { models: [callsModel, callsModel, ...madeUp(200, at * 200)] })
      await fleet.pass(100)
    }
    expect(fleet.models.list()).toHaveLength(1_000)
    expect(fleet.models.find(calls)).toBeDefined()
    fleet.startEngine({ model: { ...callsModel, name: 'late' } })
    await fleet.pass(200)
    expect(fleet.models.find({ ...calls, name: 'late' })).toBeDefined()
    expect(fleet.models.list()).toHaveLength(1_000)
  })
})

describe('names that offer a model', () => {
  it('are forgotten, the latest first, if they are many and have no process', () => {
    const names = new NamePrecedence()
    const visit = (name: string): void => {
      names.add(calls, name)
      names.remove(calls, name)
    }
    names.add(calls, 'first')
    for (let at = 0; at < 1_000; at += 1) visit(`hostile-${at}`)
    names.add(calls, 'second')
    names.add(calls, 'hostile-900')
    names.remove(calls, 'first')
    expect(names.first(calls)).toBe('first')
    for (let tick = 0; tick < 50; tick += 1) names.tick()
    expect(names.first(calls)).toBe('second')
  })
})

describe('adverts', () => {
  it('of an engine process whose clock is ahead do not count as newer than those that start later', async () => {
    const fleet = newFleet()
    const ahead = fleet.broker.connect()
    const claimAhead = (): void => claim(ahead, { name: 'ahead', capacity: 9 })
    claimAhead()
    await fleet.pass(100)
    fleet.startEngine({ model: { ...callsModel, digest: 'b' } })
    for (let at = 0; at < 5; at += 1) {
      claimAhead()
      await fleet.pass(100)
      const lane = await fleet.openLane()
      lane.open()
      await lane.speak(100)
      lane.abort()
    }
    expect(sentTo(fleet, 'ahead')).toBe(0)
  })

  it('of more places than an engine process can have are ignored', async () => {
    const { fleet, bus } = await attacked()
    claim(bus, { capacity: 100_001 })
    await fleet.pass(20)
    expect(fleet.fleet.roster.engines.map(({ address }) => address.name)).toEqual(['engine-0'])
  })

  it('that arrive together cause one update', async () => {
    const { fleet, bus } = await attacked()
    const { fleet: edge } = fleet
    const update = edge.onChange
    let updates = 0
    edge.onChange = () => {
      updates += 1
      update()
    }
    for (let index = 0; index < 300; index += 1) claim(bus, { index, models: madeUp(2, index * 2) })
    await fleet.pass(200)
    expect(updates).toBe(2)
    expect(fleet.models.list()).toHaveLength(601)
    await fleet.pass(2_000)
    // All of the 300 are lost at once.
    expect(updates).toBe(22)
  })

  it('are requested again each second only from a process that advertises places but no models', async () => {
    const { fleet, bus } = await attacked()
    const engine = addressOf('hostile', 0)
    const before = fleet.broker.posted.length
    for (let at = 0; at < 50; at += 1) {
      bus.publish(aliveSubject('hostile'), encodeJson({ v: 1, engine, capacity: 1, used: 0, state: 'serving' }))
      await fleet.pass(100)
    }
    const asked = fleet.broker.posted.slice(before).filter(({ subject }) => subject === whoSubject)
    expect(asked.length).toBeGreaterThanOrEqual(5)
    expect(asked.length).toBeLessThanOrEqual(6)
  })

  it('are sent once in 250 ms, however often services ask', async () => {
    const { fleet, bus } = await attacked()
    const before = fleet.broker.posted.length
    for (let at = 0; at < 1_000; at += 1) {
      bus.publish(whoSubject, '')
      if (at % 10 === 0) await fleet.pass(10)
    }
    await fleet.pass(300)
    const answers = fleet.broker.posted.slice(before).filter(({ subject }) => subject.startsWith('rxspeech.models.'))
    expect(answers.length).toBeGreaterThanOrEqual(4)
    expect(answers.length).toBeLessThanOrEqual(6)
  })
})
