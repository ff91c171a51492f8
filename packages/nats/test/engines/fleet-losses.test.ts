import { EMPTY } from 'rxjs'
import { afterEach, describe, expect, it } from 'vitest'
import { decodeAnswer, decodeRequest, encodeJson, engineSubject } from '../../src/engines/protocol.js'
import { countingEngine, type CountingEngine } from './counting-engine.js'
import { callsLabel, causeOf, closeFleet, fleetOf, requests, speaking } from './fleet-of.js'

afterEach(closeFleet)

describe('segments whose engine process is lost or wrong', () => {
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
    // What the engine says when it goes on concerns no segment any more, and its place becomes free.
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
      'The engine process engine-0 (eeeeeeeeeeeeeee0) ended, or gave the segment back.',
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
        message: expect.stringMatching(
          /^The engine process engine-[01] \(e{15}[01]\) could not decode the segment;/,
        ) as string,
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
})
