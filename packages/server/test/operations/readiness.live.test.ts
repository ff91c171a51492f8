import { NEVER, of, Subject, throwError, VirtualTimeScheduler } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../../../src/errors/speech-error.js'
import { modelLabel } from '../../../engines/src/models/model-json.js'
import type { Engine, Hypothesis, ModelDescription } from '../../../engines/src/engine.js'
import type { ModelRegistry } from '../../../engines/src/models/model-registry.js'
import { ReadinessTracker } from '../../src/operations/readiness.js'

const decided: Hypothesis = { type: 'segment', startMs: 0, endMs: 100, text: '', words: [] }
const broken = (): SpeechError => new SpeechError('engine-failed', 'The engine is gone.')

const modelOf = (name: string): ModelDescription => ({
  tenant: 'Default',
  name,
  version: '1',
  folder: '',
  options: { engine: 'scripted' },
})

type EngineBehavior = 'works' | 'does not load' | 'gone' | 'fails-what-it-reads' | 'silent'

/** A service with these models, whose engines are scripted. */
const trackerWith = async (...names: readonly string[]) => {
  const scheduler = new VirtualTimeScheduler()
  const tracker = new ReadinessTracker(scheduler, true)
  const behavior = new Map<string, EngineBehavior>(names.map((name) => [name, 'works']))
  const engineOf = (name: string): Engine => ({
    capabilities: { sampleRateHz: 8000, partials: true, words: true, kind: 'grammar', segmentsAtOnce: 1 },
    recognize: () => () => (behavior.get(name) === 'works' ? of(decided) : throwError(broken)),
    ready: () => {
      const engineBehavior = behavior.get(name)
      if (engineBehavior === 'silent') return new Promise(() => undefined)
      return engineBehavior === 'gone' ? Promise.reject(broken()) : Promise.resolve()
    },
    close: () => Promise.resolve(),
  })
  const engines = new Map(names.map((name) => [name, engineOf(name)]))
  const models = names.map(modelOf)
  const change$ = new Subject<void>()
  const registry: ModelRegistry = {
    find: ({ name }) => models.find((model) => model.name === name),
    list: () => models,
    problems: () => [],
    engine: ({ name }) =>
      behavior.get(name) === 'does not load'
        ? Promise.reject(broken())
        : Promise.resolve(engines.get(name) ?? engineOf(name)),
    changed$: change$,
    release: ({ name }) => (name === 'b' ? { canary: { version: modelOf('b').version, percent: 5 } } : undefined),
    close: () => Promise.resolve(),
  }
  const faults: unknown[] = []
  tracker.onFault = (error) => faults.push(error)
  const watched = tracker.watchModels(registry)
  tracker.opened(models[0])
  const settled = (): Promise<void> => new Promise(setImmediate)
  await settled()
  /** Sessions that each decode one segment. */
  const read = async (name: string, count: number): Promise<void> => {
    const engine = await watched.engine(modelOf(name))
    for (let at = 0; at < count; at += 1) {
      NEVER.pipe(engine.recognize()).subscribe({ error: () => undefined })
    }
    await settled()
  }
  const passMs = async (ms: number): Promise<void> => {
    scheduler.maxFrames = scheduler.frame + ms
    scheduler.flush()
    scheduler.frame = scheduler.maxFrames
    await settled()
  }
  const isFailing = (name: string): boolean | undefined => watched.isFailing?.(modelOf(name))
  return { tracker, behavior, read, passMs, faults, isFailing, change$ }
}

describe('the readiness of a service', () => {
  it('is lost when the only engine fails while in use, reported once, and returns with it', async () => {
    const { tracker, behavior, read, passMs, faults } = await trackerWith('a')
    const changes: string[] = []
    const change$ = new Subject<string>()
    change$.subscribe((type) => changes.push(type))
    tracker.onChange = ({ type }) => {
      if (changes.at(-1) !== type) change$.next(type)
    }
    expect(tracker.readiness).toEqual({ type: 'ready' })
    behavior.set('a', 'gone')
    await read('a', 2)
    expect(tracker.readiness).toEqual({ type: 'ready' })
    await read('a', 1)
    expect(tracker.readiness).toEqual({ type: 'without-engine' })
    await passMs(10_000)
    await passMs(10_000)
    expect(tracker.readiness).toEqual({ type: 'without-engine' })
    expect(faults).toHaveLength(1)
    behavior.set('a', 'works')
    await passMs(10_000)
    expect(tracker.readiness).toEqual({ type: 'ready' })
    expect(changes).toEqual(['without-engine', 'ready'])
    tracker.close()
  })

  it('does not depend on a model that fails, which is no canary until a result or a change of the models', async () => {
    const { tracker, behavior, read, isFailing, change$ } = await trackerWith('a', 'b')
    const reported: string[] = []
    tracker.engines.onCanaryFailing = (label) => reported.push(label)
    for (const name of ['a', 'b']) behavior.set(name, 'fails-what-it-reads')
    await read('a', 7)
    behavior.set('a', 'works')
    await read('a', 1)
    await read('b', 5)
    expect(isFailing('b')).toBe(false)
    await read('b', 1)
    expect([isFailing('a'), isFailing('b')]).toEqual([false, true])
    expect(reported).toEqual([modelLabel(modelOf('b'))])
    change$.next()
    expect(isFailing('b')).toBe(false)
    await read('b', 6)
    expect(isFailing('b')).toBe(true)
    await read('b', 1)
    expect(reported).toHaveLength(2)
    behavior.set('b', 'works')
    await read('b', 1)
    expect(isFailing('b')).toBe(false)
    expect(tracker.readiness).toEqual({ type: 'ready' })
    tracker.close()
  })

  it('does not load a canary again that does not load', async () => {
    const { tracker, behavior, read, isFailing } = await trackerWith('a', 'b')
    const reported: string[] = []
    tracker.engines.onCanaryFailing = (label) => reported.push(label)
    for (const name of ['a', 'b']) {
      behavior.set(name, 'does not load')
      await expect(read(name, 1)).rejects.toThrow()
      await expect(read(name, 1)).rejects.toThrow()
    }
    expect(isFailing('b')).toBe(true)
    expect(reported).toEqual([modelLabel(modelOf('b'))])
    tracker.close()
  })

  it('is lost when an engine does not even report its readiness', async () => {
    const { tracker, behavior, read, passMs } = await trackerWith('a')
    behavior.set('a', 'silent')
    await read('a', 3)
    await passMs(300_000)
    expect(tracker.readiness).toEqual({ type: 'without-engine' })
    tracker.close()
  })

  it('stays while another model can be loaded', async () => {
    const { tracker, behavior, read } = await trackerWith('a', 'b')
    behavior.set('a', 'gone')
    await read('a', 6)
    expect(tracker.readiness).toEqual({ type: 'ready' })
    behavior.set('b', 'gone')
    await read('b', 3)
    expect(tracker.readiness).toEqual({ type: 'without-engine' })
    tracker.close()
  })

  it('stays if audio fails while the engine works, or if faults are not consecutive', async () => {
    const { tracker, behavior, read } = await trackerWith('a')
    behavior.set('a', 'fails-what-it-reads')
    await read('a', 30)
    expect(tracker.readiness).toEqual({ type: 'ready' })
    for (let round = 0; round < 5; round += 1) {
      behavior.set('a', 'gone')
      await read('a', 2)
      behavior.set('a', 'works')
      await read('a', 1)
    }
    expect(tracker.readiness).toEqual({ type: 'ready' })
    tracker.close()
  })
})
