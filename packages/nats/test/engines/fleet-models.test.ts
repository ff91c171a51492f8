import { countRefusals } from '../../../server/src/sessions/refusals.js'
import { afterEach, describe, expect, it } from 'vitest'
import { modelLabel } from '../../../engines/src/models/model-json.js'
import { createModelRegistry } from '../../../engines/src/models/model-registry.js'
import { Fleet } from '../../src/engines/fleet.js'
import { createFleetModels } from '../../src/engines/fleet-models.js'
import { Admission } from '../../src/engines/admission.js'
import type { SpeechError } from '../../../../src/errors/speech-error.js'
import { ReadinessTracker } from '../../../server/src/operations/readiness.js'
import { openModel } from '../../../server/src/sessions/rights.js'
import { VirtualClock } from '../../../service/test/virtual-clock.js'
import { countingEngine } from './counting-engine.js'
import { callsModel, VirtualFleet } from './virtual-fleet.js'

let current: VirtualFleet | undefined
afterEach(async () => {
  await current?.close()
  current = undefined
})

const newFleet = (): VirtualFleet => (current = new VirtualFleet())
const calls = { tenant: 'Default', name: 'calls' }

const codeOf = (act: () => unknown): string => {
  try {
    act()
  } catch (error) {
    return (error as { code: string }).code
  }
  return 'none'
}

describe('the models of a fleet', () => {
  it('are those that engines advertise, the newest version first', async () => {
    const fleet = newFleet()
    expect(fleet.models.find(calls)).toBeUndefined()
    for (const version of ['1', '10', '9']) fleet.startEngine({ model: { ...callsModel, version, batch: true } })
    await fleet.pass(100)
    expect(fleet.models.list().map(({ version }) => version)).toEqual(['1', '9', '10'])
    expect(fleet.models.find(calls)).toMatchObject({ version: '10', options: { engine: 'nats', batch: true } })
    expect(fleet.models.find({ ...calls, version: '9' })).toMatchObject({ version: '9' })
    expect(fleet.models.find({ ...calls, tenant: 'acme' })).toBeUndefined()
    expect((await fleet.engineOf()).capabilities).toMatchObject({ sampleRateHz: 8000, kind: 'dictation', words: true })
  })

  it('are known of engines that ran before', async () => {
    const fleet = newFleet()
    fleet.startEngine()
    await fleet.pass(1000)
    const late = new VirtualFleet({ bus: fleet.broker.connect(), scheduler: fleet.clock })
    await fleet.pass(300)
    expect(late.models.find(calls)).toBeDefined()
    await late.close()
  })

  it('are closed also when an engine of this process cannot be', async () => {
    const { broker, clock } = newFleet()
    await current?.pass(20)
    const before = clock.waiting
    const fleet = new Fleet({ bus: broker.connect(), onFault: () => undefined, scheduler: clock })
    const local = createModelRegistry({ folders: [], kinds: [] })
    const close = (): Promise<void> => Promise.reject(new Error('It hangs.'))
    const models = createFleetModels({ fleet, local: { ...local, close }, onFault: () => undefined, scheduler: clock })
    expect(clock.waiting).toBeGreaterThan(before)
    await expect(models.close()).rejects.toThrow('It hangs.')
    await current?.pass(20)
    expect(clock.waiting).toBe(before)
  })

  it('count as served for 5 s after the last engine, and are forgotten later, if there are other engine processes', async () => {
    const fleet = newFleet()
    const { kill } = fleet.startEngine()
    await fleet.pass(300)
    const model = fleet.models.find(calls)
    if (model === undefined) throw new Error('no model')
    expect(fleet.models.isServed?.(model)).toBe(true)
    let changes = 0
    fleet.models.changed$?.subscribe(() => (changes += 1))
    kill()
    await fleet.pass(5_000)
    expect(fleet.models.isServed?.(model)).toBe(true)
    await fleet.pass(1_500)
    expect(fleet.models.isServed?.(model)).toBe(false)
    expect(changes).toBe(1)
    expect(codeOf(() => fleet.models.admit?.(model))).toBe('overloaded')
    // An outage of all engine processes ends sooner or later, so that clients are to try again.
    await fleet.pass(60_000)
    expect(codeOf(() => fleet.models.admit?.(model))).toBe('overloaded')
    fleet.startEngine({ model: { ...callsModel, name: 'other' } })
    // Those that end an outage do not come all at once.
    await fleet.pass(19_000)
    expect(codeOf(() => fleet.models.admit?.(model))).toBe('overloaded')
    expect(fleet.models.find(calls)).toBeDefined()
    await fleet.pass(1_500)
    expect(fleet.models.find(calls)).toBeUndefined()
    await expect(fleet.models.engine(model)).rejects.toMatchObject({ code: 'invalid-model' })
  })

  it('keep a service ready when no engine process has come yet, and when all are gone', async () => {
    const fleet = newFleet()
    const tracker = new ReadinessTracker(fleet.clock, true)
    const changes: string[] = []
    tracker.onChange = ({ type }) => changes.push(type)
    tracker.watchModels(fleet.models)
    tracker.opened(undefined)
    const { kill } = fleet.startEngine()
    await fleet.pass(300)
    kill()
    await fleet.pass(60_000)
    expect(changes.length).toBeGreaterThan(1)
    expect(new Set(changes)).toEqual(new Set(['ready']))
    tracker.close()
  })

  const refusalOf = (name: string): Promise<unknown> =>
    openModel(fleetModels(), { tenants: ['*'], projects: ['*'], models: ['calls', 'other'] }, { name }).catch(
      (error: unknown) => error,
    )
  const fleetModels = (): VirtualFleet['models'] => {
    if (current === undefined) throw new Error('no fleet')
    return current.models
  }

  it('of a new version that has few places leave sessions without a version those of the old one', async () => {
    const fleet = newFleet()
    fleet.startEngine({ capacity: 20 })
    fleet.startEngine({ capacity: 1, model: { ...callsModel, version: '2' } })
    await fleet.pass(300)
    const admitted: string[] = []
    const open = () =>
      openModel(
        fleet.models,
        { tenants: ['*'], projects: ['*'], models: ['*'] },
        { name: 'calls' },
        {
          check: (model) => {
            fleet.models.admit?.(model)
            admitted.push(model.version)
          },
        },
      )
    for (let session = 0; session < 10; session += 1) await open()
    expect(admitted).toEqual(['2', ...Array.from({ length: 9 }, () => '1')])
    for (let session = 0; session < 9; session += 1) await open()
    await expect(open()).rejects.toMatchObject({ code: 'overloaded' })
    expect(admitted).toHaveLength(19)
  })

  it('are refused as overloaded, not as unknown, until the first engine process has come', async () => {
    const fleet = newFleet()
    expect(await refusalOf('calls')).toMatchObject({
      code: 'overloaded',
      message: 'The engine process of this model may not be running yet; try again later.',
    })
    expect((await refusalOf('calls')) as SpeechError).toHaveProperty('retryAfterMs')
    expect(await refusalOf('not-granted')).toMatchObject({ code: 'model-denied' })
    fleet.startEngine({ model: { ...callsModel, name: 'other' } })
    await fleet.pass(300)
    expect(await refusalOf('calls')).toMatchObject({ code: 'model-denied' })
  })

  it.each(['the service has started', 'all engine processes are gone'])(
    'are refused so for another minute if the first engine process comes late after %s',
    async (what) => {
      const fleet = newFleet()
      const other = { model: { ...callsModel, name: 'other' } }
      if (what.startsWith('all')) {
        const { kill } = fleet.startEngine(other)
        await fleet.pass(300)
        kill()
        // Until its death is noticed.
        await fleet.pass(3_000)
      }
      await fleet.pass(10_000)
      fleet.startEngine(other)
      await fleet.pass(59_000)
      expect(await refusalOf('calls')).toMatchObject({ code: 'overloaded' })
      await fleet.pass(2_000)
      expect(await refusalOf('calls')).toMatchObject({ code: 'model-denied' })
    },
  )

  it('admit no session while NATS is away, and none beyond the places', async () => {
    const fleet = newFleet()
    fleet.startEngine({ capacity: 20 })
    await fleet.pass(300)
    const model = fleet.models.find(calls)
    if (model === undefined) throw new Error('no model')
    const admitted = Array.from({ length: 30 }, () => codeOf(() => fleet.models.admit?.(model)))
    expect(admitted.filter((code) => code === 'none')).toHaveLength(18)
    expect(admitted.filter((code) => code === 'overloaded')).toHaveLength(12)
    await fleet.pass(5_100)
    expect(codeOf(() => fleet.models.admit?.(model))).toBe('none')
    fleet.broker.setUp(false)
    expect(codeOf(() => fleet.models.admit?.(model))).toBe('overloaded')
  })

  it('admit no session while all engines are behind, at once, and count the places of one that is behind for none', async () => {
    const fleet = newFleet()
    const works = [0, 1].map(() => ({ lagMs: 0, progress: 0 }))
    for (const work of works) fleet.startEngine({ capacity: 10, work: () => work })
    await fleet.pass(300)
    const model = fleet.models.find(calls)
    if (model === undefined) throw new Error('no model')
    const admit = (): string => codeOf(() => fleet.models.admit?.(model))
    const lag = async (...lagsMs: readonly number[]): Promise<void> => {
      for (const [at, work] of works.entries()) work.lagMs = lagsMs[at] ?? 0
      await fleet.pass(500)
    }
    await lag(1_100, 0)
    expect(Array.from({ length: 12 }, admit).filter((code) => code === 'none')).toHaveLength(9)
    await fleet.pass(5_100)
    expect(fleet.fleet.use.models).toMatchObject([{ engines: 2, used: 0, free: 10, behind: 10 }])
    await lag(1_100, 2_000)
    expect(admit()).toBe('overloaded')
    await lag(600, 600)
    expect(admit()).toBe('overloaded')
    await lag(600, 400)
    expect(admit()).toBe('none')
  })

  it('thin partials while an engine process does so for the same model', async () => {
    const fleet = newFleet()
    const other = { ...callsModel, name: 'other' }
    const engine = countingEngine(fleet.clock)
    const busy = { [modelLabel(other)]: 2_000 }
    const work = { lagMs: 0, progress: 0, partialIntervalsMs: { ...busy, [modelLabel(callsModel)]: 1_000 } }
    fleet.startEngine({ work: () => work, models: [callsModel, other].map((advert) => ({ advert, engine })) })
    await fleet.pass(300)
    const intervalsMs = async (): Promise<readonly unknown[]> =>
      Promise.all(
        ['calls', 'other'].map(async (name) => {
          const model = fleet.models.find({ ...calls, name })
          return model && (await fleet.models.engine(model)).partialIntervalMs?.()
        }),
      )
    expect(await intervalsMs()).toEqual([1_000, 2_000])
    work.partialIntervalsMs = busy
    await fleet.pass(300)
    expect(await intervalsMs()).toEqual([0, 2_000])
  })

  it('share the places of engines that serve several of them', async () => {
    const fleet = newFleet()
    const [first, second] = ['first', 'second'].map((name) => ({ ...callsModel, name }))
    const engine = countingEngine(fleet.clock)
    const models = [first, second].flatMap((advert) => (advert === undefined ? [] : [{ advert, engine }]))
    fleet.startEngine({ capacity: 20, models })
    fleet.startEngine({ capacity: 60, models: models.slice(1) })
    await fleet.pass(300)
    const admit = (name: string): boolean => {
      const model = fleet.models.find({ ...calls, name })
      return model !== undefined && codeOf(() => fleet.models.admit?.(model)) === 'none'
    }
    const admitted = (name: string, count: number): number =>
      Array.from({ length: count }, () => admit(name)).filter(Boolean).length
    // A quarter of them is expected at the engine that serves both.
    expect(admitted('second', 40)).toBe(40)
    expect(admitted('first', 20)).toBe(8)
    // All of the 8 are there.
    expect(admitted('second', 40)).toBe(72 - 40 - 8)
  })

  it('are not known of engines in regions that are not used', async () => {
    const fleet = (current = new VirtualFleet({ region: 'eu' }))
    fleet.startEngine({ region: 'us' })
    await fleet.pass(300)
    expect(fleet.models.list()).toEqual([])
    fleet.startEngine({ region: 'eu' })
    await fleet.pass(300)
    expect(fleet.models.find(calls)).toBeDefined()
  })

  it('do not count as served again while their last engine drains for long', async () => {
    const fleet = newFleet()
    const { host, engine } = fleet.startEngine()
    await fleet.pass(300)
    const lane = await fleet.openLane()
    lane.open()
    await lane.speak(300)
    void host.drain(120_000)
    const model = fleet.models.find(calls)
    if (model === undefined) throw new Error('no model')
    const served: (boolean | undefined)[] = []
    fleet.models.changed$?.subscribe(() => served.push(fleet.models.isServed?.(model)))
    await fleet.pass(60_000)
    expect(served).toEqual([false])
    expect(engine.open()).toBe(1)
    const text = lane.end()
    await fleet.pass(100)
    expect(lane.texts).toEqual([text])
  })

  it('never refuse a segment of a session that runs', async () => {
    const fleet = newFleet()
    fleet.startEngine({ capacity: 1 })
    await fleet.pass(300)
    const lanes = [await fleet.openLane(), await fleet.openLane()]
    for (const lane of lanes) lane.open()
    await lanes[0]?.speak(8_000)
    const [first, second] = lanes.map((lane) => lane.end())
    await fleet.pass(300)
    expect(lanes.map(({ texts }) => texts)).toEqual([[first], [second]])
  })

  it('open no engine after they were closed', async () => {
    const fleet = newFleet()
    fleet.startEngine()
    await fleet.pass(300)
    const model = fleet.models.find(calls)
    if (model === undefined) throw new Error('no model')
    const lane = await fleet.openLane()
    lane.open()
    await fleet.models.close()
    expect(lane.error).toMatchObject({ code: 'engine-failed', retryable: false })
    await expect(fleet.models.engine(model)).rejects.toMatchObject({ code: 'going-away' })
  })
})

describe('admission', () => {
  it('follows the mean of 5 s, not the moment', () => {
    const clock = new VirtualClock()
    const admission = new Admission(() => clock.now())
    const useFor = (ms: number, used: number): void => {
      for (let at = 0; at < ms; at += 100) {
        clock.advanceTo(clock.now() + 100)
        admission.sample([{ used, capacity: 10 }])
      }
    }
    useFor(5_000, 4)
    useFor(300, 10)
    expect(codeOf(() => admission.admit())).toBe('none')
    useFor(4_700, 10)
    expect(codeOf(() => admission.admit())).toBe('overloaded')
    useFor(2_500, 4)
    expect(codeOf(() => admission.admit())).toBe('none')
  })

  it('counts a session once, whether it has shown its use or not', () => {
    const clock = new VirtualClock()
    const admission = new Admission(() => clock.now())
    admission.sample([{ used: 0, capacity: 10 }])
    for (let admitted = 0; admitted < 9; admitted += 1) {
      admission.admit()
      // Each speaks from its start on.
      for (let tick = 0; tick < 5; tick += 1) {
        clock.advanceTo(clock.now() + 100)
        admission.sample([{ used: admitted + 1, capacity: 10 }])
      }
    }
    expect(codeOf(() => admission.admit())).toBe('overloaded')
  })

  it('reports its first refusal with the reason, and the end of refusing 5 s after the last one', () => {
    const clock = new VirtualClock()
    const reported: unknown[] = []
    const admission = new Admission(
      () => clock.now(),
      () => 0,
      (refusing) => reported.push(refusing),
    )
    const sampleUntil = (ms: number): void => {
      clock.advanceTo(ms)
      admission.sample([{ used: 9, capacity: 10, isBehind: true }])
    }
    sampleUntil(0)
    const refusal = (): unknown => {
      try {
        admission.admit()
        return undefined
      } catch (error) {
        return error
      }
    }
    // Of a session that gets an older version.
    expect(refusal()).toMatchObject({ code: 'overloaded' })
    expect(reported).toEqual([])
    countRefusals([refusal()])
    countRefusals([refusal()])
    expect(reported).toEqual([{ phase: 'begun', reason: 'all of its engine processes are behind' }])
    sampleUntil(4_999)
    expect(reported).toHaveLength(1)
    sampleUntil(5_000)
    sampleUntil(9_000)
    expect(reported.slice(1)).toEqual([{ phase: 'ended', refused: 2 }])
  })

  it('refuses at once after the start of a service whose engines others use', () => {
    const admission = new Admission(() => 0)
    admission.sample([{ used: 9, capacity: 10 }])
    expect(codeOf(() => admission.admit())).toBe('overloaded')
  })

  it('admits one session to the smallest engine, and asks refused ones to wait 2 to 10 s', () => {
    const clock = new VirtualClock()
    for (const [random, retryAfterMs] of [
      [0, 2_000],
      [1, 10_000],
    ] as const) {
      const admission = new Admission(
        () => clock.now(),
        () => random,
      )
      admission.sample([{ used: 0, capacity: 1 }])
      admission.admit()
      expect(() => {
        admission.admit()
      }).toThrow(expect.objectContaining({ code: 'overloaded', retryAfterMs }) as Error)
    }
  })
})
