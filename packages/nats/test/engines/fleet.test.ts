import { afterEach, describe, expect, it } from 'vitest'
import { countingEngine } from './counting-engine.js'
import { callsModel, type VirtualFleet } from './virtual-fleet.js'
import { causeOf, closeFleet, fleetOf, requests, speaking } from './fleet-of.js'

afterEach(closeFleet)

describe('segments over NATS', () => {
  it('recognizes each segment once, in order, with its partials and all of its progress', async () => {
    const fleet = await fleetOf(2)
    const lane = await fleet.openLane()
    const texts: string[] = []
    for (let at = 0; at < 3; at += 1) {
      lane.open()
      await lane.speak(500)
      texts.push(lane.end())
    }
    await fleet.pass(100)
    expect(lane.texts).toEqual(texts)
    expect(lane.progress).toBe(3 * 4000)
    expect(lane.results).toContainEqual({ type: 'partial', startMs: 300, text: '800', stableLength: 2 })
    expect(lane.results.find(({ type }) => type === 'segment')).toMatchObject({ startMs: 300, endMs: 800 })
    expect(lane.faults).toEqual([])
  })

  it('passes on that the audio was cut, and that the text is incomplete', async () => {
    const fleet = await fleetOf(1)
    const lane = await fleet.openLane()
    for (const isCut of [true, false]) {
      lane.open()
      await lane.speak(300)
      lane.end(isCut)
      await fleet.pass(100)
    }
    expect(lane.results.flatMap((result) => (result.type === 'segment' ? [result.isIncomplete] : []))).toEqual([
      true,
      undefined,
    ])
  })

  it('passes the slots of a sentence on', async () => {
    const { fleet, lane } = await speaking(1, 300)
    const text = lane.end()
    await fleet.pass(100)
    expect(lane.results).toContainEqual(expect.objectContaining({ type: 'segment', text, slots: { count: text } }))
  })

  it('carries checks and their answers, without a change of the audio', async () => {
    const fleet = await fleetOf(1)
    const lane = await fleet.openLane()
    lane.open()
    for (let second = 0; second < 4; second += 1) {
      await lane.speak(1000)
      lane.check()
      await fleet.pass(100)
    }
    const text = lane.end()
    await fleet.pass(100)
    expect(lane.answers).toEqual([false, true, false, true])
    expect(lane.texts).toEqual([text])
  })

  it('asks again when the engine is lost before it answers', async () => {
    const { fleet, lane } = await speaking(2, 2000)
    fleet.busy.kill()
    lane.check()
    await fleet.pass(500)
    expect(lane.answers).toEqual([true])
    expect(lane.faults.map(causeOf)).toEqual(['connection-lost'])
  })

  it('does not ask an engine of an older version, and counts its sentences as incomplete', async () => {
    const fleet = await fleetOf(0)
    const { checks: _none, ...older } = callsModel
    fleet.startEngine({ model: older })
    await fleet.pass(300)
    const lane = await fleet.openLane()
    lane.open()
    await lane.speak(2000)
    lane.check()
    await fleet.pass(100)
    expect(lane.answers).toEqual([false])
    expect(requests(fleet).some(({ type }) => type === 'check')).toBe(false)
    expect((await fleet.engineOf()).capabilities.checks).toBe(false)
  })

  it('sends the rejection of the session, also to an engine that reads a segment again', async () => {
    const fleet = await fleetOf(0)
    const engines = [fleet.startEngine(), fleet.startEngine()]
    await fleet.pass(300)
    for (const reject of ['high', undefined] as const) {
      const lane = await fleet.openLane({ reject })
      lane.open()
      await lane.speak(300)
      if (reject === 'high') fleet.busy.kill()
      lane.end()
      await fleet.pass(2000)
      expect(lane.results.filter(({ type }) => type === 'segment')).toMatchObject([{ words: [{ confidence: 0.5 }] }])
    }
    const asked = engines.flatMap(({ engine }) => engine.settings.map(({ reject }) => reject))
    expect(asked.toSorted()).toEqual(['high', 'high', undefined])
  })

  describe('with phrases', () => {
    const withPhrases = { ...callsModel, phrases: true }
    const startWithPhrases = (fleet: VirtualFleet) =>
      fleet.startEngine({ model: withPhrases, engine: countingEngine(fleet.clock, { phrases: true }) })
    const checkOf = async (fleet: VirtualFleet, ...phrases: readonly string[]) => {
      const engine = await fleet.engineOf()
      return engine.checkPhrases?.(phrases).catch((error: unknown) => (error as { readonly code: string }).code)
    }

    it('sends them to the engine, also to one that reads a segment again', async () => {
      const fleet = await fleetOf(0)
      const engines = [startWithPhrases(fleet), startWithPhrases(fleet)]
      await fleet.pass(300)
      expect((await fleet.engineOf()).capabilities.phrases).toBe(true)
      const lane = await fleet.openLane({ phrases: ['one', 'two'] })
      lane.open()
      await lane.speak(300)
      fleet.busy.kill()
      const text = lane.end()
      await fleet.pass(2000)
      expect(lane.texts).toEqual([text])
      const asked = engines.flatMap(({ engine }) => engine.settings.map(({ phrases }) => phrases))
      expect(asked).toEqual([
        ['one', 'two'],
        ['one', 'two'],
      ])
    })

    it('checks them at an engine without taking a place', async () => {
      const fleet = await fleetOf(0)
      const { engine, host } = startWithPhrases(fleet)
      await fleet.pass(300)
      const checks = [checkOf(fleet, 'one'), checkOf(fleet, 'one', 'unknown')]
      await fleet.pass(100)
      expect(await Promise.all(checks)).toEqual([[], [{ index: 1, reason: 'is unknown.' }]])
      expect([engine.checked(), engine.opened(), host.used, fleet.fleet.counts.lost]).toEqual([2, 0, 0, {}])
    })

    it('asks another engine if one is silent, gone or without phrases, and gives up after three', async () => {
      const fleet = await fleetOf(0)
      const silent = startWithPhrases(fleet)
      silent.engine.checkPhrases = () => new Promise(() => undefined)
      const unknowing = fleet.startEngine({ model: withPhrases })
      await fleet.pass(300)
      const good = startWithPhrases(fleet)
      await fleet.pass(300)
      const checks = Array.from({ length: 8 }, () => checkOf(fleet, 'one'))
      await fleet.pass(2500)
      expect(await Promise.all(checks)).toEqual(checks.map(() => []))
      expect(good.engine.checked()).toBe(8)
      expect(unknowing.engine.checked()).toBe(0)
      good.kill()
      const failed = [checkOf(fleet, 'one')]
      await fleet.pass(2500)
      expect(await Promise.all(failed)).toEqual(['engine-failed'])
    })

    it('gives up when it is closed, and without a connection', async () => {
      const fleet = await fleetOf(0)
      const silent = startWithPhrases(fleet)
      silent.engine.checkPhrases = () => new Promise(() => undefined)
      await fleet.pass(300)
      const closed = checkOf(fleet, 'one')
      await fleet.pass(100)
      fleet.fleet.close()
      expect(await closed).toBe('engine-failed')
    })

    it('ends a session with an error when only engines are left that know none', async () => {
      const fleet = await fleetOf(0)
      const { kill } = startWithPhrases(fleet)
      await fleet.pass(300)
      const lane = await fleet.openLane({ phrases: ['one'] })
      fleet.startEngine()
      await fleet.pass(300)
      lane.open()
      await lane.speak(300)
      kill()
      await fleet.pass(17_000)
      expect(lane.error).toMatchObject({ code: 'engine-failed' })
    })

    it('opens them only at engines with phrases', async () => {
      const fleet = await fleetOf(0)
      const { phrases: _none, ...older } = withPhrases
      const unknowing = fleet.startEngine({ model: older, capacity: 100 })
      const knowing = startWithPhrases(fleet)
      await fleet.pass(300)
      for (let at = 0; at < 4; at += 1) {
        const lane = await fleet.openLane({ phrases: ['one'] })
        lane.open()
        await lane.speak(100)
      }
      expect([unknowing.engine.opened(), knowing.engine.opened()]).toEqual([0, 4])
    })
  })

  it('opens a segment with a language only where the model has it, and sends the language of each segment', async () => {
    const fleet = await fleetOf(0)
    const start = (languages?: readonly string[]) =>
      fleet.startEngine({
        model: { ...callsModel, ...(languages && { languages }) },
        engine: countingEngine(fleet.clock, languages && { languages }),
        capacity: 100,
      })
    const [none, english] = [start(), start(['en'])]
    const [one, two] = [start(['en', 'fr']), start(['en', 'fr'])]
    await fleet.pass(300)
    for (let at = 0; at < 6; at += 1) {
      const lane = await fleet.openLane({ language: 'fr' })
      lane.open()
      await lane.speak(100)
      lane.end()
      await fleet.pass(100)
      expect(lane.texts).toHaveLength(1)
    }
    expect([none.engine.opened(), english.engine.opened()]).toEqual([0, 0])
    // Others are not even asked.
    expect(requests(fleet).filter(({ type }) => type === 'open')).toHaveLength(6)
    const asked = [one, two].flatMap(({ engine }) => engine.settings.map(({ language }) => language))
    expect(asked).toEqual(Array.from({ length: 6 }, () => 'fr'))
  })
})
