import { timer } from 'rxjs'
import { afterEach, describe, expect, it } from 'vitest'
import {
  aliveSubject,
  attemptSubject,
  decodeRequest,
  engineSubject,
  modelsSubject,
  type ProcessAddress,
} from '../../src/engines/protocol.js'
import { textOf } from './counting-engine.js'
import type { FakeBus } from './fake-broker.js'
import { closeFleet, newFleet } from './fleet-of.js'
import { callsModel, type VirtualFleet } from './virtual-fleet.js'

// Processes of the version before and of the next one, by the messages that they send. Those of the version before lack
// all fields that were added later; those of the next have fields and kinds of messages that no process knows yet.

afterEach(closeFleet)

const engine: ProcessAddress = { name: 'other', instance: '00000000000000aa' }
const edge: ProcessAddress = { name: 'other-edge', instance: '00000000000000bb' }
const { checks: _later, ...firstModel } = callsModel

const json = (message: object): string => JSON.stringify(message)

/** What a process writes into each message of its version. */
type Version = (message: object) => object
const before: Version = (message) => message
const next: Version = (message) => ({ ...message, later: { any: [1] }, alsoLater: 'x' })

/** An engine process of another version that recognizes how many samples a segment has. */
const otherEngine = (bus: FakeBus, version: Version, laterKinds: readonly object[]): (() => void) => {
  const reply = (to: string, message: object): void => {
    for (const later of laterKinds) bus.publish(to, json(later))
    bus.publish(to, json(version(message)))
  }
  const samples = new Map<string, number>()
  bus.messages(engineSubject(engine)).subscribe(({ payload, replyTo }) => {
    const request = decodeRequest(payload)
    const total = samples.get(replyTo) ?? 0
    if (request?.type === 'open') reply(replyTo, { t: 'yes' })
    else if (request?.type === 'audio') {
      samples.set(replyTo, total + request.samples.length)
      reply(replyTo, { t: 'taken', at: total + request.samples.length, partial: 'so far' })
    } else if (request?.type === 'close') reply(replyTo, { t: 'decided', text: `${total} samples`, words: [] })
  })
  return () => {
    const models = [version(firstModel)]
    bus.publish(modelsSubject(engine.name), json(version({ v: 1, engine: version(engine), startedAtMs: 5, models })))
    const alive = { v: 1, engine, capacity: 4, used: 0, state: 'serving' }
    bus.publish(aliveSubject(engine.name), json(version(alive)))
  }
}

const speakTo = async (fleet: VirtualFleet, advertise: () => void) => {
  const adverts = timer(0, 250, fleet.clock).subscribe(advertise)
  await fleet.pass(300)
  const lane = await fleet.openLane()
  lane.open()
  await lane.speak(600)
  lane.end()
  await fleet.pass(500)
  adverts.unsubscribe()
  return lane
}

describe('an edge', () => {
  it.each([
    ['before', before, []],
    ['after', next, [{ t: 'estimate', seconds: 2 }, { t: 'later' }]],
  ] as const)('gets results of an engine process of the version %s its own', async (_which, version, laterKinds) => {
    const fleet = newFleet()
    const lane = await speakTo(fleet, otherEngine(fleet.broker.connect(), version, laterKinds))
    expect(lane.texts).toEqual(['4800 samples'])
    expect(lane.progress).toBe(4_800)
    expect([lane.faults, lane.error, fleet.faults]).toEqual([[], undefined, []])
  })

  it('says which engine process has another version of the messages, once, and goes on with the others', async () => {
    const faults: unknown[] = []
    const fleet = newFleet({ onFault: (error) => void faults.push(error) })
    fleet.startEngine()
    const bus = fleet.broker.connect()
    const lane = await speakTo(fleet, () => {
      // The second has another form, too, and the third another name than its subject.
      bus.publish(aliveSubject('other'), json({ v: 2, engine, capacity: 4, used: 0, state: 'serving' }))
      bus.publish(aliveSubject('third'), json({ v: 3, engine: { ...engine, name: 'third' }, places: [4] }))
      bus.publish(aliveSubject('forged'), json({ v: 2, engine }))
    })
    expect(lane.texts).toHaveLength(1)
    expect(faults).toMatchObject([
      {
        code: 'refused',
        message:
          'The engine process other has version 2 of the messages, and this service has 1, so it gets no segments; run versions of rxspeech with the same one.',
      },
      { message: expect.stringContaining('third has version 3') as string },
    ])
  })
})

describe('an engine process', () => {
  /** A segment of an edge, by the bytes that it sends. */
  const recognizeFor = async (version: Version, laterKinds: readonly number[]): Promise<readonly unknown[]> => {
    const fleet = newFleet()
    const { host } = fleet.startEngine()
    const bus = fleet.broker.connect()
    const answers: unknown[] = []
    const replyTo = attemptSubject(edge, 7)
    bus.messages(replyTo).subscribe(({ payload }) => answers.push(JSON.parse(Buffer.from(payload).toString())))
    const send = (kind: number, body: Uint8Array | object): void => {
      const bytes = body instanceof Uint8Array ? body : Buffer.from(json(version(body)))
      for (const later of laterKinds) bus.publish(engineSubject(host.address), Uint8Array.of(later, 123, 125), replyTo)
      bus.publish(engineSubject(host.address), Buffer.concat([Uint8Array.of(kind), bytes]), replyTo)
    }
    const samples = Int16Array.from({ length: 800 }, (_none, index) => index)
    send(1, { v: 1, model: 'Default/calls/1', startMs: 0 })
    await fleet.pass(20)
    send(2, Buffer.concat([Uint8Array.of(0, 0, 0, 0, 0), new Uint8Array(samples.buffer)]))
    await fleet.pass(20)
    send(5, {})
    await fleet.pass(20)
    send(3, { total: 800, endMs: 100, isCut: false })
    await fleet.pass(100)
    expect(host.used).toBe(0)
    return answers
  }

  it.each([
    ['before', before, []],
    ['after', next, [8, 99, 255]],
  ] as const)('recognizes a segment of an edge of the version %s its own', async (_which, version, laterKinds) => {
    const answers = await recognizeFor(version, laterKinds)
    expect(answers[0]).toEqual({ t: 'yes' })
    expect(answers.at(-1)).toMatchObject({ t: 'decided', text: textOf([...Array(800).keys()]) })
    expect(answers.slice(1, -1).every((answer) => (answer as { t: string }).t === 'taken')).toBe(true)
  })
})
