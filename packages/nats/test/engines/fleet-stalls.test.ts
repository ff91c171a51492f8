import { afterEach, describe, expect, it, vi } from 'vitest'
import { flushPromises } from '../../../service/test/virtual-clock.js'
import { countingEngine, type CountingEngineOptions } from './counting-engine.js'
import { type VirtualFleet, type Lane, type VirtualEngine } from './virtual-fleet.js'
import { closeFleet, fleetOf, requests } from './fleet-of.js'

afterEach(closeFleet)

describe('segments at an engine process that lives, but does not go on', () => {
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
  const stalledSentence = 'The engine process engine-0 (eeeeeeeeeeeeeee0) accepted the segment, but made no progress.'

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

describe('segments at an engine process that advertises places, but answers nothing', () => {
  const causes: readonly (readonly [string, string, (fleet: VirtualFleet) => void])[] = [
    [
      'it does not receive them',
      'The engine process engine-0 (eeeeeeeeeeeeeee0) did not answer.',
      (fleet) => (fleet.broker.loses = ({ subject }) => subject.startsWith('rxspeech.engine.engine-0.')),
    ],
    [
      'NATS does not deliver them to it',
      'The engine process engine-0 (eeeeeeeeeeeeeee0) ended, or gave the segment back.',
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
