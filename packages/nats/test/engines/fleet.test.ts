import { EMPTY, interval, Subscription } from 'rxjs'
import { afterEach, describe, expect, it, vi } from 'vitest'
import {
  decodeAnswer,
  decodeRequest,
  encodeJson,
  engineSubject,
  type EngineRequest,
} from '../../src/engines/protocol.js'
import { flushPromises } from '../../../service/test/virtual-clock.js'
import { modelLabel } from '../../../engines/src/models/model-json.js'
import { EngineUse } from '../../../server/src/operations/engine-use.js'
import { countingEngine, type CountingEngine, type CountingEngineOptions } from './counting-engine.js'
import { callsModel, VirtualFleet, type Lane, type VirtualEngine } from './virtual-fleet.js'

let current: VirtualFleet | undefined
afterEach(async () => {
  await current?.close()
  current = undefined
})

const fleetOf = async (
  engineCount: number,
  ...options: ConstructorParameters<typeof VirtualFleet>
): Promise<VirtualFleet> => {
  current = new VirtualFleet(...options)
  for (let at = 0; at < engineCount; at += 1) current.startEngine()
  await current.pass(300)
  return current
}

/** A channel in a segment of which that much audio was sent. */
const speaking = async (
  engineCount: number,
  ms: number,
): Promise<{ readonly fleet: VirtualFleet; readonly lane: Lane }> => {
  const fleet = await fleetOf(engineCount)
  const lane = await fleet.openLane()
  lane.open()
  await lane.speak(ms)
  return { fleet, lane }
}

const callsLabel = { label: modelLabel(callsModel) }

const causeOf = (error: Error | undefined): unknown => (error?.cause as { code?: unknown } | undefined)?.code

/** The requests to engines so far, with the number of their attempt. */
const requests = ({ broker }: VirtualFleet): readonly (EngineRequest & { readonly attempt: number })[] =>
  broker.posted.flatMap(({ subject, payload, replyTo }) => {
    const request = subject.endsWith('.in') ? decodeRequest(payload) : undefined
    return request === undefined ? [] : [{ ...request, attempt: Number(replyTo.split('.').at(-1)) }]
  })

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

  it('reads a segment again elsewhere when its engine is killed', async () => {
    const { fleet, lane } = await speaking(3, 1000)
    fleet.busy.kill()
    await lane.speak(1000)
    const text = lane.end()
    await fleet.pass(100)
    expect(lane.texts).toEqual([text])
    expect(lane.progress).toBe(16_000)
    expect(lane.faults.map(causeOf)).toEqual(['connection-lost'])
    expect(fleet.fleet.counts.lost).toEqual({ gone: 1 })
  })

  it('notices within 100 ms of silence in a segment that its engine was killed', async () => {
    const fleet = await fleetOf(2, {})
    const lane = await fleet.openLane()
    lane.open()
    await lane.speak(300)
    fleet.busy.kill()
    await fleet.pass(240)
    expect(lane.faults).toHaveLength(1)
  })

  it('reads a segment again elsewhere when its engine hangs, within a second and a tick', async () => {
    const { fleet, lane } = await speaking(2, 300)
    const hung = fleet.busy
    hung.bus.suspend()
    await fleet.pass(800)
    expect(lane.faults).toHaveLength(0)
    await fleet.pass(500)
    expect(lane.faults).toHaveLength(1)
    const text = lane.end()
    await fleet.pass(100)
    expect(lane.texts).toEqual([text])
    // What the engine says when it goes on concerns nobody, and its place becomes free.
    hung.bus.resume()
    await fleet.pass(300)
    expect(lane.texts).toEqual([text])
    expect(hung.host.used).toBe(0)
  })

  it('gives no segment to one that was silent for 10 s after its return, while another one has a place', async () => {
    const fleet = await fleetOf(1)
    const silent = fleet.startEngine({ capacity: 9 })
    await fleet.pass(300)
    silent.bus.suspend()
    await fleet.pass(1_500)
    silent.bus.resume()
    await fleet.pass(300)
    const openOne = async (): Promise<number> => {
      const before = silent.engine.opened()
      const lane = await fleet.openLane()
      lane.open()
      lane.write()
      const text = lane.end()
      await fleet.pass(200)
      expect(lane.texts).toEqual([text])
      return silent.engine.opened() - before
    }
    expect(fleet.fleet.use.models).toMatchObject([{ engines: 2 }])
    expect([await openOne(), await openOne(), await openOne()]).toEqual([0, 0, 0])
    await fleet.pass(10_000)
    expect(await openOne()).toBe(1)
  })

  it('never uses the number of an attempt twice, so an engine that wakes up cannot answer for another one', async () => {
    const fleet = await fleetOf(0)
    const sleeping = fleet.startEngine()
    await fleet.pass(300)
    sleeping.bus.suspend()
    const lane = await fleet.openLane()
    lane.open()
    await lane.speak(200)
    // The opening is not answered; the segment goes to an engine that starts.
    const awake = fleet.startEngine()
    await lane.speak(600)
    expect(awake.engine.open()).toBe(1)
    sleeping.bus.resume()
    await lane.speak(200)
    const text = lane.end()
    await fleet.pass(100)
    expect(lane.texts).toEqual([text])
    expect(sleeping.engine.open()).toBe(0)
    const opened = requests(fleet).filter(({ type }) => type === 'open')
    expect(new Set(opened.map(({ attempt }) => attempt)).size).toBe(opened.length)
    expect(opened.length).toBeGreaterThan(1)
    const audio = requests(fleet).filter(({ type }) => type === 'audio')
    expect(new Set(audio.map(({ attempt }) => attempt)).size).toBe(1)
  })

  it('ignores answers for a segment of another engine process', async () => {
    const fleet = await fleetOf(2)
    const lanes = await Promise.all([1, 2, 3, 4].map(() => fleet.openLane()))
    for (const lane of lanes) {
      lane.open()
      lane.write()
    }
    await fleet.pass(300)
    const replies = fleet.broker.posted.flatMap(({ subject, replyTo }) => (subject.endsWith('.in') ? [replyTo] : []))
    const own = replies[0] ?? ''
    const edge = own.slice(0, own.lastIndexOf('.'))
    const number = Number(own.slice(edge.length + 1))
    const bus = fleet.broker.connect()
    for (const other of Array.from({ length: 20 }, (_, at) => number - 10 + at).filter((one) => one !== number)) {
      bus.publish(`${edge}.${other}`, encodeJson({ t: 'failed', final: true }))
    }
    await fleet.pass(100)
    expect(lanes.map(({ error }) => error)).toEqual(lanes.map(() => undefined))
    const texts = lanes.map((lane) => lane.end())
    await fleet.pass(100)
    expect(lanes.map((lane) => lane.texts)).toEqual(texts.map((text) => [text]))
  })

  it('sends at most 2 s of audio that the engine has not read', async () => {
    const fleet = await fleetOf(0)
    fleet.startEngine({ engine: countingEngine(fleet.clock, { reads: false }) })
    await fleet.pass(300)
    const lane = await fleet.openLane()
    lane.open()
    for (let at = 0; at < 100; at += 1) lane.write()
    await fleet.pass(300)
    expect(requests(fleet).filter(({ type }) => type === 'audio')).toHaveLength(20)
  })

  it('fails an attempt whose audio has a hole, and never recognizes it', async () => {
    const { fleet, lane } = await speaking(2, 300)
    let lost = 0
    fleet.broker.loses = ({ payload }) => decodeRequest(payload)?.type === 'audio' && (lost += 1) === 1
    await lane.speak(500)
    expect(lane.faults).toHaveLength(1)
    const text = lane.end()
    await fleet.pass(100)
    expect(lane.texts).toEqual([text])
    expect(fleet.fleet.counts.lost).toEqual({ gap: 1 })
  })

  it('does not decide a segment whose last audio was lost', async () => {
    const { fleet, lane } = await speaking(2, 300)
    let lost = 0
    fleet.broker.loses = ({ payload }) => decodeRequest(payload)?.type === 'audio' && (lost += 1) === 1
    lane.write()
    const text = lane.end()
    await fleet.pass(200)
    expect(lane.texts).toEqual([text])
    expect(fleet.fleet.counts.lost).toEqual({ gap: 1 })
  })

  it.each([
    ['a check', 'check'],
    ['the answer to a check', 'checked'],
    ['the end of a segment', 'close'],
    ['the acknowledgement of a full window', 'taken'],
    ['the result', 'decided'],
  ])('waits no longer than a second if %s is lost', async (_what, lostKind) => {
    const fleet = await fleetOf(2)
    const lane = await fleet.openLane()
    lane.open()
    let lost = 0
    fleet.broker.loses = ({ subject, payload }) => {
      const kind = subject.startsWith('rxspeech.edge.') ? decodeAnswer(payload)?.t : decodeRequest(payload)?.type
      return kind === lostKind && (lost += 1) === 1
    }
    // More than the window of 2 s.
    for (let at = 0; at < 40; at += 1) lane.write()
    await fleet.pass(1000)
    lane.check()
    await fleet.pass(1000)
    expect(lane.answers).toEqual([true])
    const text = lane.end()
    await fleet.pass(1000)
    expect(lost).toBeGreaterThan(0)
    expect(lane.texts).toEqual([text])
  })

  it('takes the answer to an earlier check, which came twice, for none to a later one', async () => {
    const { fleet, lane } = await speaking(1, 2000)
    lane.check()
    await fleet.pass(100)
    await lane.speak(100)
    lane.check()
    const subject = fleet.broker.posted.at(-1)?.replyTo ?? ''
    const payload = Buffer.from(encodeJson({ t: 'checked', isComplete: true, total: 16_000 }))
    fleet.edgeBus.deliver({ subject, payload, replyTo: '', hasNoReceiver: false })
    await fleet.pass(100)
    expect(lane.answers).toEqual([true, false])
  })

  it('publishes nothing while NATS is away, and loses no word', async () => {
    const { fleet, lane } = await speaking(2, 300)
    fleet.broker.setUp(false)
    expect(lane.faults.map(causeOf)).toEqual(['connection-lost'])
    const before = fleet.broker.posted.length
    await lane.speak(300)
    expect(fleet.broker.posted).toHaveLength(before)
    expect(fleet.busyCount).toBe(0)
    fleet.broker.setUp(true)
    await lane.speak(300)
    const text = lane.end()
    await fleet.pass(100)
    expect(lane.texts).toEqual([text])
    expect(lane.faults.map(causeOf)).toEqual(['connection-lost'])
  })

  it('waits for an engine while all are gone', async () => {
    const { fleet, lane } = await speaking(1, 300)
    fleet.busy.kill()
    await lane.speak(3000)
    fleet.startEngine()
    await fleet.pass(300)
    const text = lane.end()
    await fleet.pass(100)
    expect(lane.texts).toEqual([text])
    expect(lane.faults).toHaveLength(1)
  })

  it('ends a session whose model has had no engine for 15 s', async () => {
    const { fleet, lane } = await speaking(1, 300)
    fleet.busy.kill()
    await fleet.pass(14_900)
    expect(lane.error).toBeUndefined()
    await fleet.pass(2_000)
    expect(lane.error).toMatchObject({ code: 'engine-failed', retryable: true })
    expect(lane.faults.map(causeOf)).toEqual(['connection-lost', 'connection-lost'])
    expect(lane.faults.map(({ cause }) => (cause as Error).message)).toEqual([
      'The engine process engine-0 ended, or gave the segment back.',
      'There is no engine process for this model.',
    ])
  })

  it('retries a failed decoder twice', async () => {
    const fleet = await fleetOf(2)
    const lane = await fleet.openLane()
    lane.open()
    for (let at = 0; at < 3; at += 1) {
      await lane.speak(200)
      expect(lane.error).toBeUndefined()
      fleet.busy.engine.fail()
      await fleet.pass(20)
    }
    expect(lane.error).toMatchObject({ code: 'engine-failed' })
    expect(lane.faults).toHaveLength(3)
    for (const { cause } of lane.faults) {
      expect(cause).toMatchObject({
        code: 'engine-failed',
        message: expect.stringMatching(/^The engine process engine-[01] could not decode the segment;/) as string,
      })
    }
  })

  it('ends a session with a result that NATS does not carry, and frees the place', async () => {
    const fleet = await fleetOf(0)
    const faults: unknown[] = []
    const { bus, host } = fleet.startEngine({ onFault: (error) => faults.push(error) })
    bus.isTooLarge = (payload) => payload.includes('"decided"')
    await fleet.pass(300)
    const lane = await fleet.openLane()
    lane.open()
    await lane.speak(300)
    lane.end()
    await fleet.pass(100)
    expect(lane.error).toMatchObject({ code: 'engine-failed', retryable: false })
    expect(host.used).toBe(0)
    expect(faults).toMatchObject([{ code: 'engine-failed', message: expect.stringContaining('max_payload') as string }])
  })

  it('says so when NATS does not carry the list of the models', async () => {
    const fleet = await fleetOf(0)
    const faults: unknown[] = []
    const bus = fleet.broker.connect()
    bus.isTooLarge = (payload) => payload.includes('"models"')
    fleet.startEngine({ bus, onFault: (error) => faults.push(error) })
    await fleet.pass(1000)
    // Services that knew of it would ask for its models all the time.
    expect(fleet.broker.posted.filter(({ subject }) => subject.startsWith('rxspeech.alive.'))).toEqual([])
    expect(faults).toMatchObject([
      { code: 'engine-failed', message: expect.stringContaining('The list of 1 models') as string },
    ])
  })

  it('loses no session to an engine process that fails every segment, and has free places for that reason', async () => {
    const fleet = await fleetOf(2)
    const broken = fleet.startEngine({ engine: countingEngine(fleet.clock, { fails: true }) })
    await fleet.pass(300)
    for (let round = 0; round < 10; round += 1) {
      const lanes = await Promise.all([1, 2, 3].map(() => fleet.openLane()))
      for (const lane of lanes) lane.open()
      for (let at = 0; at < 3; at += 1) {
        for (const lane of lanes) lane.write()
        await fleet.pass(100)
      }
      const texts = lanes.map((lane) => lane.end())
      await fleet.pass(100)
      expect(lanes.map(({ error }) => error)).toEqual([undefined, undefined, undefined])
      expect(lanes.map((lane) => lane.texts)).toEqual(texts.map((text) => [text]))
    }
    expect(broken.engine.opened()).toBeGreaterThan(0)
  })

  describe('at an engine process that lives, but does not go on', () => {
    /** Time in steps of a tick, between which the engines are answered. */
    const passTicks = async (fleet: VirtualFleet, ms: number): Promise<void> => {
      for (let at = 0; at < ms; at += 100) {
        fleet.advance(100)
        await flushPromises()
      }
    }
    /** A channel in a segment of 300 ms at such an engine process, and another one that works. */
    const stalling = async (
      options: CountingEngineOptions,
    ): Promise<{ readonly fleet: VirtualFleet; readonly lane: Lane; readonly stalled: VirtualEngine }> => {
      const fleet = await fleetOf(0)
      const stalled = fleet.startEngine({ engine: countingEngine(fleet.clock, options) })
      await fleet.pass(300)
      const lane = await fleet.openLane()
      lane.open()
      await lane.speak(300)
      expect(stalled.engine.open()).toBe(1)
      fleet.startEngine()
      await fleet.pass(300)
      return { fleet, lane, stalled }
    }
    const stalledSentence = 'The engine process engine-0 accepted the segment, but made no progress.'

    it('reads a segment again elsewhere that has no result 10 s and twice its length after its end', async () => {
      const { fleet, lane, stalled } = await stalling({ decideAfterMs: Infinity })
      const decided = vi.spyOn(fleet.fleet.roster, 'decided')
      const text = lane.end()
      await passTicks(fleet, 10_000 + 2 * 300 - 200)
      expect([lane.faults, lane.texts]).toEqual([[], []])
      await passTicks(fleet, 500)
      expect(lane.texts).toEqual([text])
      expect(lane.faults).toMatchObject([{ cause: { code: 'engine-failed', message: stalledSentence } }])
      expect(lane.error).toBeUndefined()
      expect(fleet.fleet.counts.lost).toEqual({ stalled: 1 })
      expect([stalled.engine.open(), stalled.host.used]).toEqual([0, 0])
      expect(decided.mock.calls).toMatchObject([[{ name: 'engine-1' }]])
    })

    it('does the same while a check has no answer', async () => {
      const { fleet, lane } = await stalling({ decideAfterMs: Infinity })
      lane.check()
      await passTicks(fleet, 10_000 + 2 * 300 + 300)
      expect(lane.answers).toEqual([false])
      expect(fleet.fleet.counts.lost).toEqual({ stalled: 1 })
    })

    it('does the same when audio is no longer read, and when partials say the same again and again', async () => {
      const { fleet, lane, stalled } = await stalling({ realTimeFactor: Infinity, decideAfterMs: Infinity })
      // Nothing was read yet, so it may wait in a queue of the engine; 2 s are sent, the rest waits here.
      for (let at = 0; at < 30; at += 1) lane.write()
      await passTicks(fleet, 30_000 + 2 * 2_000 - 500)
      stalled.engine.repeat('uh')
      expect(lane.faults).toEqual([])
      for (let second = 0; second < 14; second += 1) {
        await passTicks(fleet, 1_000)
        stalled.engine.repeat('uh')
      }
      expect(lane.faults).toEqual([])
      await passTicks(fleet, 1_000)
      expect(lane.faults).toHaveLength(1)
      const text = lane.end()
      await fleet.pass(100)
      expect(lane.texts).toEqual([text])
    })

    it('waits for one that decodes 60 s only when it has all of them', async () => {
      const { fleet, lane, stalled } = await stalling({ decideAfterMs: 115_000 })
      for (let at = 3; at < 600; at += 1) {
        lane.write()
        await flushPromises()
        if (at % 5 === 0) await passTicks(fleet, 100)
      }
      const text = lane.end()
      await passTicks(fleet, 115_100)
      expect([lane.texts, lane.faults, stalled.engine.opened()]).toEqual([[text], [], 1])
    })

    it('waits for one that is slow, as long as it reads on', async () => {
      // 100 ms of audio take 9 s.
      const { fleet, lane, stalled } = await stalling({ realTimeFactor: 90 })
      const text = lane.end()
      await passTicks(fleet, 28_000)
      expect([lane.texts, lane.faults, stalled.engine.opened()]).toEqual([[text], [], 1])
    })

    it('waits while nothing is awaited: neither audio nor the end has come', async () => {
      const { fleet, lane } = await stalling({ reads: false })
      await passTicks(fleet, 60_000)
      const text = lane.end()
      await passTicks(fleet, 100)
      expect([lane.texts, lane.faults]).toEqual([[text], []])
    })

    describe('but is behind, and works', () => {
      /** The same, at an engine process that reports its lag, and that its work goes on each time that it is asked. */
      const slow = async (works: boolean, options: CountingEngineOptions = { decideAfterMs: Infinity }) => {
        const fleet = await fleetOf(0)
        let progress = 0
        const work = () => ({ lagMs: 4_000, progress: works ? (progress += 1) : 0 })
        const behind = fleet.startEngine({ engine: countingEngine(fleet.clock, options), work })
        await fleet.pass(300)
        const lane = await fleet.openLane()
        lane.open()
        await lane.speak(300)
        return { fleet, behind, lane }
      }

      it('leaves the segment there, if no other one is faster', async () => {
        const { fleet, behind, lane } = await slow(true, { decideAfterMs: 55_000 })
        fleet.startEngine({ work: () => ({ lagMs: 2_500, progress: 0 }) })
        await fleet.pass(300)
        const text = lane.end()
        await passTicks(fleet, 55_200)
        expect([lane.texts, lane.faults, behind.engine.opened()]).toEqual([[text], [], 1])
        expect(fleet.fleet.counts.lost).toEqual({})
      })

      it('reads it again at another one that appears and is faster, and does not count it as a failure', async () => {
        const { fleet, behind, lane } = await slow(true)
        const failed = vi.spyOn(fleet.fleet.roster, 'failed')
        const text = lane.end()
        await passTicks(fleet, 20_000)
        expect(lane.faults).toEqual([])
        fleet.startEngine({ work: () => ({ lagMs: 100, progress: 0 }) })
        await passTicks(fleet, 800)
        expect(lane.texts).toEqual([text])
        expect(fleet.fleet.counts.lost).toEqual({ slow: 1 })
        expect(lane.faults).toMatchObject([{ cause: { code: 'engine-failed' } }])
        expect([behind.engine.open(), failed.mock.calls]).toEqual([0, []])
      })

      it('gives it up after 60 s without progress', async () => {
        const { fleet, lane } = await slow(true)
        lane.end()
        await passTicks(fleet, 60_000 + 2 * 300 - 200)
        expect(lane.faults).toEqual([])
        await passTicks(fleet, 500)
        expect(fleet.fleet.counts.lost).toEqual({ stalled: 1 })
      })

      it('does not wait if its work has stopped', async () => {
        const { fleet, lane } = await slow(false)
        lane.end()
        await passTicks(fleet, 10_000 + 2 * 300 + 300)
        expect(fleet.fleet.counts.lost).toEqual({ stalled: 1 })
      })
    })

    it('ends a session whose segment has no result at three of them', async () => {
      const fleet = await fleetOf(0)
      const engines = [1, 2, 3].map(() =>
        fleet.startEngine({ engine: countingEngine(fleet.clock, { decideAfterMs: Infinity }) }),
      )
      await fleet.pass(300)
      const lane = await fleet.openLane()
      lane.open()
      await lane.speak(300)
      lane.end()
      await passTicks(fleet, 3 * 11_000)
      expect(lane.error).toMatchObject({ code: 'engine-failed', retryable: true })
      expect(engines.map(({ engine }) => engine.opened())).toEqual([1, 1, 1])
    })
  })

  describe('at an engine process that advertises places, but answers nothing', () => {
    const causes: readonly (readonly [string, string, (fleet: VirtualFleet) => void])[] = [
      [
        'it does not receive them',
        'The engine process engine-0 did not answer.',
        (fleet) => (fleet.broker.loses = ({ subject }) => subject.startsWith('rxspeech.engine.engine-0.')),
      ],
      [
        'NATS does not deliver them to it',
        'The engine process engine-0 ended, or gave the segment back.',
        (fleet) => (fleet.broker.isDeaf = (subject) => subject.startsWith('rxspeech.engine.engine-0.')),
      ],
    ]

    it.each(causes)('ends a session whose segment has no other: %s', async (_cause, sentence, loses) => {
      const fleet = await fleetOf(1)
      loses(fleet)
      const lane = await fleet.openLane()
      lane.open()
      lane.write()
      await fleet.pass(14_000)
      expect(lane.faults).toEqual([])
      await fleet.pass(36_000)
      expect(lane.error).toMatchObject({ code: 'engine-failed', retryable: true })
      expect(lane.faults[0]).toMatchObject({ cause: { message: sentence } })
      expect(fleet.fleet.waiting).toBe(0)
    })

    it.each(causes)('gives it few segments while there is another one: %s', async (_cause, _text, loses) => {
      const fleet = await fleetOf(1)
      loses(fleet)
      fleet.startEngine({ capacity: 1 })
      await fleet.pass(300)
      for (let at = 0; at < 20; at += 1) {
        const lane = await fleet.openLane()
        lane.open()
        lane.write()
        const text = lane.end()
        await fleet.pass(700)
        expect([lane.texts, lane.faults]).toEqual([[text], []])
      }
      const opened = requests(fleet).filter(({ type }) => type === 'open')
      // One in 10 s, then 20 s.
      expect(opened.length).toBeLessThanOrEqual(20 + 2)
    })

    it('waits for a free place of another one, however long', async () => {
      const fleet = await fleetOf(0)
      const { kill } = fleet.startEngine()
      fleet.broker.isDeaf = (subject) => /\.engine-[02]\./.test(subject)
      fleet.startEngine({ capacity: 1 })
      await fleet.pass(300)
      const [first, second] = [await fleet.openLane(), await fleet.openLane()]
      first.open()
      await first.speak(300)
      second.open()
      second.write()
      await fleet.pass(200)
      // Only the one without a free place is left.
      kill()
      await fleet.pass(20_000)
      fleet.startEngine()
      await fleet.pass(1_000)
      first.end()
      const text = second.end()
      await fleet.pass(200)
      expect([second.texts, second.faults]).toEqual([[text], []])
    })
  })

  it('ends a segment whose engine completes without a result', async () => {
    const fleet = await fleetOf(0)
    const faults: unknown[] = []
    const engine: CountingEngine = { ...countingEngine(fleet.clock), recognize: () => () => EMPTY }
    const { host } = fleet.startEngine({ engine, onFault: (error) => faults.push(error) })
    await fleet.pass(300)
    const lane = await fleet.openLane()
    lane.open()
    await lane.speak(300)
    expect(lane.error).toMatchObject({ code: 'engine-failed' })
    expect(faults).toHaveLength(3)
    expect(faults[0]).toMatchObject({ message: 'The engine ended a segment without a result.' })
    expect(host.used).toBe(0)
  })

  it('retries a segment five times when engines are lost, and then fails', async () => {
    const fleet = await fleetOf(7)
    const lane = await fleet.openLane()
    lane.open()
    for (let at = 0; at < 6; at += 1) {
      expect(lane.error).toBeUndefined()
      while (fleet.busyCount === 0) await lane.speak(100)
      fleet.busy.kill()
      await fleet.pass(200)
    }
    expect(lane.error).toMatchObject({ code: 'engine-failed' })
    expect(lane.faults).toHaveLength(6)
  })

  it('moves on when an engine has no place after all, without a fault', async () => {
    const fleet = await fleetOf(1)
    const small = fleet.startEngine({ capacity: 0 })
    // An advert of places that it does not have.
    const advert = { v: 1, engine: small.host.address, capacity: 100, used: 0, state: 'serving' }
    await fleet.pass(300)
    small.bus.publish(`rxspeech.alive.${small.host.address.name}`, JSON.stringify(advert))
    await fleet.pass(10)
    const lanes = [await fleet.openLane(), await fleet.openLane(), await fleet.openLane()]
    for (const lane of lanes) lane.open()
    await fleet.pass(100)
    expect(fleet.fleet.counts.full).toBeGreaterThan(0)
    expect(fleet.busy.engine.open()).toBe(3)
    expect(lanes.flatMap(({ faults }) => faults)).toEqual([])
  })

  it('goes elsewhere at once when it may not send to an engine, and leaves that one alone', async () => {
    const faults: unknown[] = []
    const fleet = await fleetOf(2, { onFault: (error) => faults.push(error) })
    const [forbidden] = fleet.fleet.roster.engines
    const subject = forbidden === undefined ? '' : engineSubject(forbidden.address)
    fleet.broker.refuses = (message) => message.subject === subject
    const lane = await fleet.openLane()
    const sentTo = (): number => fleet.broker.posted.filter((message) => message.subject === subject).length
    const texts: string[] = []
    for (let at = 0; at < 8; at += 1) {
      lane.open()
      await lane.speak(300)
      texts.push(lane.end())
      await fleet.pass(20)
      // Before the 500 ms after which an engine that does not answer is left.
      expect(lane.texts).toEqual(texts)
    }
    expect(sentTo()).toBe(1)
    expect(lane.faults).toEqual([])
    expect(fleet.fleet.counts.lost).toEqual({ refused: 1 })
    expect(faults).toMatchObject([{ code: 'refused', message: expect.stringContaining(subject) as string }])
    expect(fleet.fleet.roster.serving(callsLabel)).toHaveLength(1)
    // Permissions may change.
    fleet.broker.refuses = () => false
    await fleet.pass(30_000)
    expect(fleet.fleet.roster.serving(callsLabel)).toHaveLength(2)
  })

  it('reads a segment again elsewhere when it may no longer send to its engine', async () => {
    const { fleet, lane } = await speaking(2, 300)
    const { subject } = fleet.broker.posted.find((message) => message.subject.endsWith('.in')) ?? { subject: '' }
    fleet.broker.refuses = (message) => message.subject === subject
    await lane.speak(300)
    const text = lane.end()
    await fleet.pass(100)
    expect(lane.texts).toEqual([text])
    expect(lane.faults).toHaveLength(1)
    expect(fleet.fleet.counts.lost).toEqual({ refused: 1 })
  })

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
