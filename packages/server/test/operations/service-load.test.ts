import { afterEach, describe, expect, it } from 'vitest'
import { isSpeechError } from '../../../../src/errors/speech-error.js'
import type { Refusing } from '../../src/sessions/refusals.js'
import type { SessionFacts } from '../../src/monitor/service-monitor.js'
import {
  ServiceLoad,
  watchLoop,
  type BusyLoop,
  type LoadLimits,
  type LoopSample,
} from '../../src/operations/service-load.js'

const session: SessionFacts = { sessionId: 's', interface: 'grpc', peer: '127.0.0.1' }

const testLoad = (limits: Partial<LoadLimits> = {}) => {
  const reports: Refusing<BusyLoop>[] = []
  const engine = { isBehind: false }
  const load = new ServiceLoad({
    limits: { reservePercent: 10, maxLoadPercent: 85, maxLoopDelayMs: 100, maxEngineDelayMs: 1000, ...limits },
    isEngineBehind: () => engine.isBehind,
    onRefusing: (refusing) => reports.push(refusing),
  })
  const start = (count: number): void => {
    for (let index = 0; index < count; index += 1) load.monitor.sessionMoved(session, 'opened', 'running')
  }
  const end = (count: number): void => {
    for (let index = 0; index < count; index += 1) load.monitor.sessionMoved(session, 'running', undefined)
  }
  /** Ten samples a second; every session has `pace` seconds of audio for each. */
  const run = (count: number, sample: Partial<LoopSample>, { sessions = 0, pace = 1 } = {}): void => {
    for (let index = 0; index < count; index += 1) {
      if (sessions > 0) load.monitor.audio(session, { audioMs: 100 * sessions * pace, lateMs: 0, queuedMs: 0 })
      load.sample({ durationMs: 100, busyMs: 0, delayMs: 0, ...sample })
    }
  }
  const refusal = (isAboveShare = false): { code: string; retryAfterMs: number | undefined } | undefined => {
    try {
      load.check(isAboveShare)
      return undefined
    } catch (error) {
      if (!isSpeechError(error)) throw error
      return { code: error.code, retryAfterMs: error.retryAfterMs }
    }
  }
  return { load, reports, engine, start, end, run, refusal }
}

const refused = { code: 'overloaded', retryAfterMs: 2_000 }

describe('the load of a service', () => {
  it('refuses new sessions above the limit, and accepts them again below it', () => {
    const { start, end, run, refusal } = testLoad()
    start(100)
    run(5, { busyMs: 84 }, { sessions: 100 })
    run(5, { busyMs: 84 }, { sessions: 100 })
    expect(refusal()).toBeUndefined()
    run(5, { busyMs: 87 }, { sessions: 100 })
    expect(refusal()).toEqual(refused)
    end(10)
    run(5, { busyMs: 78 }, { sessions: 90 })
    expect(refusal()).toBeUndefined()
  })

  it('leaves a tenth of the load to tenants below their share', () => {
    const { start, run, refusal } = testLoad()
    start(100)
    run(5, { busyMs: 76 }, { sessions: 100 })
    run(5, { busyMs: 76 }, { sessions: 100 })
    expect(refusal(true)).toBeUndefined()
    run(5, { busyMs: 77 }, { sessions: 100 })
    expect([refusal(true), refusal()]).toEqual([refused, undefined])
  })

  it('counts sessions that began just now with what the others cost, so that too many at once are noticed', () => {
    const { load, start, run, refusal } = testLoad()
    start(100)
    run(5, { busyMs: 50 }, { sessions: 100 })
    run(5, { busyMs: 50 }, { sessions: 100 })
    expect(load.load).toBeCloseTo(0.5)
    start(80)
    run(1, { busyMs: 50 }, { sessions: 100 })
    expect(load.load).toBeCloseTo(0.9)
    expect(refusal()).toEqual(refused)
  })

  it('does not count what files cost that are sent faster than real time', () => {
    const { load, start, run, refusal } = testLoad()
    start(40)
    run(5, { busyMs: 100 })
    run(5, { busyMs: 100 }, { sessions: 40, pace: 10 })
    expect(load.load).toBeCloseTo(0.1)
    expect(refusal()).toBeUndefined()
  })

  it('does not refuse while something else uses the thread of few sessions', () => {
    const { start, run, refusal } = testLoad()
    start(19)
    run(10, { busyMs: 100 }, { sessions: 19 })
    expect(refusal()).toBeUndefined()
    start(1)
    run(5, { busyMs: 100 }, { sessions: 20 })
    expect(refusal()).toEqual(refused)
  })

  it('refuses and thins partials when the loop is late for half a second, until it is not for as long', () => {
    const { load, run, refusal } = testLoad()
    run(4, { delayMs: 101 })
    expect([load.partialIntervalMs, refusal()]).toEqual([0, undefined])
    run(1, { delayMs: 101 })
    expect([load.partialIntervalMs, refusal()]).toEqual([1000, refused])
    expect(load.loopDelayMs).toBe(101)
    run(4, { delayMs: 40 })
    expect([load.partialIntervalMs, refusal()]).toEqual([1000, refused])
    run(1, { delayMs: 40 })
    expect([load.partialIntervalMs, refusal()]).toEqual([0, undefined])
  })

  it('does not count a single long turn', () => {
    const { load, run, refusal } = testLoad()
    run(5, {})
    run(1, { durationMs: 30_000, busyMs: 30_000, delayMs: 29_900 })
    run(5, {})
    expect([load.partialIntervalMs, refusal()]).toEqual([0, undefined])
  })

  it('thins partials while an engine is behind; other models still get sessions', () => {
    const { load, engine, run, refusal } = testLoad()
    engine.isBehind = true
    run(1, {})
    expect([load.partialIntervalMs, refusal()]).toEqual([1000, undefined])
    engine.isBehind = false
    run(1, {})
    expect(load.partialIntervalMs).toBe(0)
  })

  it('has no limit where it is 0', () => {
    const { load, start, run, refusal } = testLoad({ maxLoadPercent: 0, maxLoopDelayMs: 0 })
    start(100)
    run(10, { busyMs: 100, delayMs: 5_000 }, { sessions: 100 })
    expect([load.partialIntervalMs, refusal()]).toEqual([0, undefined])
  })

  it('reports the first refusal, and 5 s after the last one how many there were', () => {
    const { reports, run, refusal } = testLoad()
    run(5, { busyMs: 100, delayMs: 150 })
    refusal()
    refusal()
    expect(reports).toEqual([{ phase: 'begun', loadPercent: 100, loopDelayMs: 150 }])
    run(49, {})
    expect(reports).toHaveLength(1)
    run(1, {})
    expect(reports.slice(1)).toEqual([{ phase: 'ended', refused: 2 }])
    run(100, {})
    expect(reports).toHaveLength(2)
  })
})

describe('watchLoop', () => {
  let stop: () => void = () => undefined
  afterEach(() => stop())

  it('samples the delay and the work of the real loop until it is stopped', async () => {
    const samples: LoopSample[] = []
    stop = watchLoop({ sample: (sample) => samples.push(sample) })
    const blockFor = (ms: number): void => {
      const endMs = performance.now() + ms
      while (performance.now() < endMs);
    }
    const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
    await pause(10)
    blockFor(300)
    await pause(50)
    // The first one, unless the machine was busy before.
    expect(Math.max(...samples.map(({ delayMs }) => delayMs))).toBeGreaterThan(180)
    expect(Math.max(...samples.map(({ busyMs }) => busyMs))).toBeGreaterThan(180)
    stop()
    const { length } = samples
    await pause(250)
    expect(samples).toHaveLength(length)
  })
})
