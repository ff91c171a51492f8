import { describe, expect, it } from 'vitest'
import { EngineMeter } from '../../src/operations/engine-meter.js'
import { openSpeechMetrics } from '../../src/operations/metrics.js'
import type { ModelContent } from '../../src/operations/nats-use.js'
import { modelLabel } from '../../../engines/src/models/model-json.js'
import { scriptedEngine } from '../../../service/src/testing/scripted-engine.js'

const newMeter = () => new EngineMeter({ changed: () => undefined, suspected: () => undefined }, () => 0)

const opened = async (engines = newMeter()) => {
  const load = { load: 0, loopDelayMs: 0, partialIntervalMs: 0 }
  const metrics = await openSpeechMetrics({ engines, load, isReady: () => true })
  const valuesOf = async (name: string) =>
    (await metrics.collect())
      .find((metric) => metric.name === name)
      ?.values.map(({ labels, value }) => ({ ...labels, value }))
  return { metrics, valuesOf }
}

describe('rxspeech_model_contents', () => {
  const served = async () => {
    let contents: readonly ModelContent[] = []
    const { metrics, valuesOf } = await opened()
    metrics.watchNats(() => ({ isUp: true, refused: 0, contents }))
    return async (...next: readonly ModelContent[]) => {
      contents = next
      return valuesOf('rxspeech_model_contents')
    }
  }

  it('has each content that is served now, by the beginning of its digest', async () => {
    const valuesFor = await served()
    const label = 'Default/calls/1'
    const [old, next] = ['0123456789abcdef', 'fedcba9876543210'].map((digest) => ({ label, digest, engines: 2 }))
    if (old === undefined || next === undefined) throw new Error('two contents')
    expect(await valuesFor(old, { ...next, engines: 1 })).toEqual([
      { model: label, digest: '01234567', value: 2 },
      { model: label, digest: 'fedcba98', value: 1 },
    ])
    expect(await valuesFor(next)).toEqual([{ model: label, digest: 'fedcba98', value: 2 }])
  })

  it('has at most 400, whatever engine processes report', async () => {
    const valuesFor = await served()
    const many = Array.from({ length: 1_000 }, (_, at) => ({ label: `a/b/${at}`, digest: `${at}-digest`, engines: 1 }))
    expect((await valuesFor(...many))?.length).toBeLessThanOrEqual(400)
  })
})

describe('the models that are measured', () => {
  const modelOf = (at: number) => ({ tenant: 'a', name: `m${at}`, version: '1', folder: '', options: { engine: 'x' } })
  const models = Array.from({ length: 300 }, (_, at) => modelOf(at))
  const registry = {
    find: () => undefined,
    list: () => models,
    problems: () => [],
    engine: () => Promise.resolve(scriptedEngine({ texts: ['x'] })),
    close: () => Promise.resolve(),
  }

  it('are forgotten when they are gone and there are more than 200, and then have no value', async () => {
    const meter = newMeter()
    const { valuesOf } = await opened(meter)
    for (const model of models.slice(0, 200)) await meter.watch(registry).engine(model)
    meter.modelsChanged(models.slice(0, 3))
    expect(meter.uses()).toHaveLength(200)
    expect(await valuesOf('rxspeech_engine_loaded')).toHaveLength(200)
    await meter.watch(registry).engine(modelOf(250))
    meter.modelsChanged(models.slice(0, 3))
    expect(meter.uses().map(({ label }) => label)).toEqual(models.slice(0, 3).map(modelLabel))
    expect(await valuesOf('rxspeech_engine_loaded')).toHaveLength(3)
  })
})
