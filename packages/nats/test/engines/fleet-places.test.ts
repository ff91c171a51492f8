import { interval, Subscription } from 'rxjs'
import { afterEach, describe, expect, it } from 'vitest'
import { encodeJson, engineSubject } from '../../src/engines/protocol.js'
import { flushPromises } from '../../../service/test/virtual-clock.js'
import { EngineUse } from '../../../server/src/operations/engine-use.js'
import { countingEngine, type CountingEngine, type CountingEngineOptions } from './counting-engine.js'
import { callsModel, VirtualFleet } from './virtual-fleet.js'
import { closeFleet, fleetOf, speaking } from './fleet-of.js'

afterEach(closeFleet)

describe('the places of engine processes', () => {
  it('gives places in the order of arrival, and never more than an engine has', async () => {
    const fleet = await fleetOf(0)
    const { engine, host } = fleet.startEngine({ capacity: 2 })
    await fleet.pass(300)
    const lanes = await Promise.all([1, 2, 3, 4].map(() => fleet.openLane()))
    for (const lane of lanes) {
      lane.open()
      await lane.speak(100)
    }
    expect(host.used).toBe(2)
    expect(engine.opened()).toBe(2)
    expect(fleet.fleet.waiting).toBe(2)
    const [first, second, third, fourth] = lanes
    second?.end()
    await fleet.pass(200)
    expect(third?.progress).toBeGreaterThan(0)
    expect(fourth?.progress).toBe(0)
    first?.end()
    await fleet.pass(200)
    expect(fourth?.progress).toBeGreaterThan(0)
    expect(fleet.fleet.counts.full).toBe(0)
    expect(lanes.flatMap(({ faults }) => faults)).toEqual([])
  })

  it('gives a segment that was refused its turn before later ones, when another service has taken its place', async () => {
    const fleet = await fleetOf(1)
    const other = new VirtualFleet({ bus: fleet.broker.connect(), scheduler: fleet.clock })
    await fleet.pass(300)
    const theirs = await Promise.all([1, 2, 3, 4].map(() => other.openLane()))
    // The last one waits from the start, while the others are refused.
    const ours = await Promise.all([1, 2, 3, 4, 5].map(() => fleet.openLane()))
    for (const lane of [...theirs, ...ours]) {
      lane.open()
      lane.write()
    }
    await fleet.pass(300)
    expect(fleet.fleet.counts.full).toBeGreaterThan(0)
    expect(ours.map(({ progress }) => progress)).toEqual([0, 0, 0, 0, 0])
    theirs[0]?.end()
    await fleet.pass(300)
    expect(ours.map(({ progress }) => progress)).toEqual([800, 0, 0, 0, 0])
    await other.close()
  })

  it('gives a place to the next segment with the result of the one before', async () => {
    const fleet = await fleetOf(0)
    fleet.startEngine({ capacity: 1, engine: countingEngine(fleet.clock, { decideAfterMs: 1 }) })
    await fleet.pass(300)
    const [first, second] = [await fleet.openLane(), await fleet.openLane()]
    first.open()
    second.open()
    await fleet.pass(100)
    first.end()
    // To the engine and back, decided, and to the engine again: less than the engine takes until its next advert.
    for (let ms = 0; ms < 10; ms += 1) {
      fleet.advance(1)
      await flushPromises()
    }
    expect(first.texts).toHaveLength(1)
    expect(fleet.fleet.waiting).toBe(0)
    expect(fleet.fleet.counts.full).toBe(0)
  })

  it('frees a place when a session ends, and a place in the line', async () => {
    const fleet = await fleetOf(0)
    const { host } = fleet.startEngine({ capacity: 1 })
    await fleet.pass(300)
    const [running, waiting] = [await fleet.openLane(), await fleet.openLane()]
    running.open()
    waiting.open()
    await fleet.pass(100)
    waiting.abort()
    expect(fleet.fleet.waiting).toBe(0)
    running.abort()
    await fleet.pass(10)
    expect(host.used).toBe(0)
  })

  it('frees the places of an edge that vanished within 2.5 s', async () => {
    const { fleet } = await speaking(1, 300)
    const { host } = fleet.busy
    fleet.edgeBus.suspend()
    await fleet.pass(1800)
    expect(host.used).toBe(1)
    await fleet.pass(500)
    expect(host.used).toBe(0)
  })

  it('frees the places of an edge that was killed with the next answer', async () => {
    const { fleet, lane } = await speaking(1, 300)
    const { host } = fleet.busy
    lane.write()
    fleet.advance(1)
    void fleet.edgeBus.close()
    await fleet.pass(40)
    expect(host.used).toBe(0)
  })

  it('drains: open segments are decided there, new ones go elsewhere', async () => {
    const { fleet, lane } = await speaking(2, 300)
    const draining = fleet.busy
    let isDrained = false
    void draining.host.drain(60_000).then(() => (isDrained = true))
    await lane.speak(300)
    expect(isDrained).toBe(false)
    const first = lane.end()
    await fleet.pass(100)
    expect(isDrained).toBe(true)
    lane.open()
    await lane.speak(300)
    expect(fleet.busy).not.toBe(draining)
    const second = lane.end()
    await fleet.pass(100)
    expect(lane.texts).toEqual([first, second])
    expect(lane.faults).toEqual([])
  })

  it('gives back what is open when the time of a drain is over', async () => {
    const { fleet, lane } = await speaking(2, 300)
    const draining = fleet.busy
    void draining.host.drain(500).then(() => draining.host.close())
    await lane.speak(1000)
    const text = lane.end()
    await fleet.pass(100)
    expect(lane.texts).toEqual([text])
    expect(lane.faults).toHaveLength(1)
    expect(fleet.fleet.roster.engines).toHaveLength(1)
  })

  it('does not lose engines because this process paused', async () => {
    const { fleet, lane } = await speaking(1, 300)
    // Timers that were missed run once; the adverts of that time are read afterwards.
    fleet.fleet.roster.tick()
    await lane.speak(300)
    expect(lane.faults).toEqual([])
  })

  it('prefers the newest content of a model, and uses the older one when that is full', async () => {
    const fleet = await fleetOf(0)
    const old = fleet.startEngine({ capacity: 3 })
    await fleet.pass(300)
    const renewed = fleet.startEngine({ capacity: 2, model: { ...callsModel, digest: 'b' } })
    await fleet.pass(300)
    const lanes = await Promise.all([1, 2, 3].map(() => fleet.openLane()))
    for (const lane of lanes) {
      lane.open()
      await lane.speak(100)
    }
    expect(renewed.engine.open()).toBe(2)
    expect(old.engine.open()).toBe(1)
  })

  it('never sends audio to an engine whose model has another rate', async () => {
    const fleet = await fleetOf(0)
    const first = fleet.startEngine({ capacity: 1 })
    await fleet.pass(300)
    const other = fleet.startEngine({ capacity: 5, model: { ...callsModel, sampleRateHz: 16_000 } })
    await fleet.pass(300)
    const lanes = [await fleet.openLane(), await fleet.openLane()]
    for (const lane of lanes) {
      lane.open()
      await lane.speak(100)
    }
    expect(first.engine.opened()).toBe(1)
    expect(other.engine.opened()).toBe(0)
  })

  it('starts no session for an engine of another version of the protocol, which refuses all segments', async () => {
    const fleet = await fleetOf(0)
    const bus = fleet.broker.connect()
    const engine = { name: 'later', instance: '0123456789abcdef' }
    bus.publish('rxspeech.models.later', encodeJson({ v: 9, engine, startedAtMs: 0, models: [callsModel] }))
    bus.publish('rxspeech.alive.later', encodeJson({ v: 9, engine, capacity: 4, used: 0, state: 'serving' }))
    await fleet.pass(200)
    expect(fleet.fleet.roster.engines).toHaveLength(1)
    const model = fleet.models.list()[0]
    if (model === undefined) throw new Error('no model')
    expect(() => fleet.models.admit?.(model)).toThrow('No engine for this model is running; try again later.')
  })

  it('gives segments to the engine that keeps up, by the lag that each measures, until the other one has kept up for 5 s', async () => {
    const fleet = await fleetOf(0)
    const sampling = new Subscription()
    const measured = (options: CountingEngineOptions): { readonly use: EngineUse; readonly engine: CountingEngine } => {
      const use = new EngineUse(() => fleet.clock.now())
      const engine = countingEngine(fleet.clock, options)
      sampling.add(interval(100, fleet.clock).subscribe(() => use.sample(1_000)))
      return { use, engine: { ...engine, ...use.watch(engine) } }
    }
    // A second of speech takes it two.
    const slow = measured({ realTimeFactor: 2 })
    const prompt = measured({ realTimeFactor: 0.1 })
    fleet.startEngine({ ...slow, capacity: 20, work: () => slow.use })
    await fleet.pass(300)
    const first = [await fleet.openLane(), await fleet.openLane()]
    for (const lane of first) lane.open()
    fleet.startEngine({ ...prompt, capacity: 10, work: () => prompt.use })
    for (let at = 0; at < 20; at += 1) {
      for (const lane of first) lane.write()
      await fleet.pass(100)
    }
    const texts = first.map((lane) => lane.end())
    await fleet.pass(900)
    expect([slow.use.isBehind, prompt.use.isBehind]).toEqual([true, false])
    const speak = async (): Promise<void> => {
      const lane = await fleet.openLane()
      lane.open()
      lane.write()
      const text = lane.end()
      await fleet.pass(400)
      expect(lane.texts).toEqual([text])
    }
    for (let at = 0; at < 5; at += 1) await speak()
    expect([slow.engine.opened(), prompt.engine.opened()]).toEqual([2, 5])
    expect(first.map((lane) => [lane.texts, lane.faults])).toEqual(texts.map((text) => [[text], []]))
    await fleet.pass(6_000)
    expect(slow.use.lagMs).toBe(0)
    await speak()
    expect(slow.engine.opened()).toBe(3)
    sampling.unsubscribe()
  })

  it('keeps audio in its region, unless other regions are allowed and it is full', async () => {
    for (const otherRegions of [false, true]) {
      const fleet = await fleetOf(0, { region: 'eu', otherRegions })
      const far = fleet.startEngine({ region: 'us', capacity: 5 })
      const near = fleet.startEngine({ region: 'eu', capacity: 1 })
      await fleet.pass(300)
      const lanes = [await fleet.openLane(), await fleet.openLane()]
      for (const lane of lanes) {
        lane.open()
        await lane.speak(100)
      }
      expect(near.engine.opened()).toBe(1)
      expect(far.engine.opened()).toBe(otherRegions ? 1 : 0)
      await fleet.close()
    }
  })

  it.each([
    ['of another version of the protocol', 3, 'Default/calls/1', false],
    ['of a version that has phrases, without phrases', 2, 'Default/calls/1', false],
    ['of a model that it does not have', 1, 'Default/other/1', false],
    ['while it drains', 1, 'Default/calls/1', true],
    ['in a language that its model does not have', 1, 'Default/calls/1', false, 'fr'],
  ] as const)('refuses a segment %s', async (_what, v, model, drains, language?: string) => {
    const fleet = await fleetOf(0)
    const { host } = fleet.startEngine()
    if (drains) void host.drain(60_000)
    const answers: string[] = []
    const bus = fleet.broker.connect()
    const reply = 'rxspeech.edge.other.0123456789abcdef.1'
    bus.messages(reply).subscribe(({ payload }) => answers.push(payload.toString()))
    const open = Buffer.from(`\u0001${JSON.stringify({ v, model, startMs: 0, language })}`)
    bus.publish(engineSubject(host.address), open, reply)
    await fleet.pass(20)
    expect(answers).toEqual(['{"t":"full"}'])
  })

  it('answers nowhere but to edges', async () => {
    const fleet = await fleetOf(0)
    const { host } = fleet.startEngine()
    const bus = fleet.broker.connect()
    const open = Buffer.from(`\u0001${JSON.stringify({ v: 1, model: 'Default/calls/1', startMs: 0 })}`)
    bus.publish(engineSubject(host.address), open, 'rxspeech.models.x')
    const before = fleet.broker.posted.length
    await fleet.pass(100)
    expect(fleet.broker.posted.slice(before).filter(({ subject }) => subject === 'rxspeech.models.x')).toEqual([])
  })
})
