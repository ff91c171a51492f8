import { describe, expect, it } from 'vitest'
import { placeOf } from '../../src/cli/sizing/generator-protocol.js'
import { capacityOf, nextCalls, type TriedCalls } from '../../src/cli/sizing/search.js'
import {
  isHopeless,
  judgeStep,
  ownDelayMs,
  quantile,
  waitsMs,
  type MeasuredSegment,
  type StepMeasurement,
} from '../../src/cli/sizing/step-verdict.js'

const segment = (positionMs: number, delayMs: number, lengthMs = 1_000, channel = 0): MeasuredSegment => ({
  channel,
  positionMs,
  lengthMs,
  delayMs,
})

const idle = { use: 0.1, loopDelayMs: 5, cpuMs: 100 }
const service = { cpuMs: 5_000, memoryBytes: 1e9, load: 0.3, loopDelayMs: 2, engineBusyMs: 4_000 }
const machine = { cpus: 2, cpuMs: 6_000, availableBytes: 8e9, totalBytes: 16e9 }
const step = (changes: Partial<StepMeasurement> = {}): StepMeasurement => ({
  calls: 4,
  durationMs: 10_000,
  segments: [segment(1_000, 300)],
  faults: [],
  generator: idle,
  service,
  machine,
  ...changes,
})

describe('quantile', () => {
  it('is the smallest value that the share does not exceed', () => {
    const values = Array.from({ length: 100 }, (_none, at) => 100 - at)
    expect([0, 0.5, 0.95, 1].map((share) => quantile(values, share))).toEqual([1, 50, 95, 100])
    expect([quantile([], 0.95), quantile([7], 0.95)]).toEqual([0, 7])
  })
})

describe('the time that a segment waits', () => {
  const alone = [segment(1_000, 200), segment(5_000, 700, 4_000), segment(1_000, 90, 1_000, 1)]

  it('is what it takes more than the same segment of one call alone', () => {
    expect(waitsMs([segment(1_040, 450), segment(5_000, 650, 4_000)], alone)).toEqual([250, 0])
    expect(ownDelayMs(alone, segment(1_000, 0, 1_000, 1))).toBe(90)
  })

  it('is compared with a segment of a similar length if the recording has no such position', () => {
    expect(waitsMs([segment(3_000, 1_000, 3_500), segment(3_000, 1_000, 500)], alone)).toEqual([300, 800])
  })
})

describe('the verdict of a step', () => {
  const alone = [segment(1_000, 200)]
  const judge = (changes: Partial<StepMeasurement>) => judgeStep(step(changes), alone, 1_000)

  it('is that calls are carried while one result in twenty is later than the target', () => {
    const inTime = Array.from({ length: 19 }, () => segment(1_000, 1_200))
    expect(judge({ segments: [...inTime, segment(1_000, 9_000)] })).toMatchObject({ isCarried: true, p95Ms: 1_000 })
    expect(judge({ segments: [...inTime.slice(1), segment(1_000, 1_201), segment(1_000, 9_000)] })).toMatchObject({
      isCarried: false,
      limit: 'engine',
    })
  })

  it('is that they are not carried if anything is lost, or nothing has a result', () => {
    expect(judge({ faults: [{ kind: 'gap', reason: 'x' }] })).toMatchObject({ isCarried: false, limit: 'engine' })
    expect(judge({ segments: [] })).toMatchObject({ isCarried: false })
  })

  const late = [segment(1_000, 9_000)]

  it.each<[string, Partial<StepMeasurement>]>([
    ['generator', { generator: { ...idle, loopDelayMs: 150 } }],
    ['generator', { generator: { ...idle, use: 0.9 }, service: { ...service, load: 0.95 } }],
    ['memory', { machine: { ...machine, availableBytes: 0.7e9 } }],
    ['event-loop', { service: { ...service, load: 0.9 }, machine: { ...machine, cpuMs: 20_000 } }],
    ['event-loop', { service: { ...service, loopDelayMs: 120 } }],
    ['cpu', { machine: { ...machine, cpuMs: 19_000 }, service: { ...service, cpuMs: 12_000 } }],
    ['engine', {}],
    ['engine', { machine: { ...machine, cpuMs: 19_000 }, service: { ...service, cpuMs: 3_000 } }],
    ['refused', { faults: [{ kind: 'refused', reason: 'overloaded' }] }],
    ['connection', { faults: [{ kind: 'reconnected', reason: 'x' }] }],
    ['unknown', { service: undefined }],
  ])('names the limit %s', (limit, changes) => {
    expect(judge({ segments: late, ...changes })).toMatchObject({ isCarried: false, limit })
  })

  it('is clear before the end once too many are late for all that can follow', () => {
    const waits = (late: number, all: number): readonly number[] =>
      Array.from({ length: all }, (_none, at) => (at < late ? 2_000 : 0))
    expect(isHopeless(waits(20, 40), 1_000, 0.2)).toBe(false)
    expect(isHopeless(waits(20, 100), 1_000, 0.5)).toBe(true)
    expect(isHopeless(waits(4, 100), 1_000, 0.5)).toBe(false)
  })
})

/** Calls at an engine with one place that takes exactly this long for each segment, without sockets and clocks. */
const simulate = (calls: number, readMs: number, phase: number, measureMs = 40_000): StepMeasurement => {
  const recordingMs = 10_000
  // Speech of three segments, as in a call: a quarter of a segment a second.
  const ends = [2_000, 5_500, 9_000]
  const arrivals = Array.from({ length: calls }, (_none, call) => {
    const fromMs = placeOf(call, phase) * recordingMs
    return ends.flatMap((end) => {
      const first = (end - fromMs + recordingMs) % recordingMs
      const turns = Math.ceil(measureMs / recordingMs)
      return Array.from({ length: turns }, (_one, turn) => ({ end, atMs: first + turn * recordingMs }))
    })
  })
    .flat()
    .toSorted((a, b) => a.atMs - b.atMs)
  let freeAtMs = 0
  const segments = arrivals.map(({ end, atMs }) => {
    freeAtMs = Math.max(freeAtMs, atMs) + readMs
    return segment(end, freeAtMs - atMs)
  })
  return step({ calls, segments })
}

describe('bisecting an engine of a known capacity', () => {
  /** 0.3 segments a second of a call. */
  const theory = (readMs: number): number => 1_000 / readMs / 0.3

  it.each([100, 250, 400])(
    'finds it within a tenth, and rounds within 7 percent, with %i ms for a segment',
    (readMs) => {
      const alone = simulate(1, readMs, 0).segments
      const capacities = [0.25, 0.5, 0.75].map((phase) => {
        const tried: TriedCalls[] = []
        const options = { estimate: 2, growth: 1.5, maxCalls: 1_000 }
        for (let calls = nextCalls(tried, options); calls !== undefined; calls = nextCalls(tried, options)) {
          tried.push(judgeStep(simulate(calls, readMs, phase), alone, 1_000))
        }
        return capacityOf(tried, 1_000)
      })
      for (const capacity of capacities) expect(Math.abs(capacity / theory(readMs) - 1)).toBeLessThan(0.1)
      expect(Math.max(...capacities) / Math.min(...capacities)).toBeLessThan(1.07)
    },
  )
})
