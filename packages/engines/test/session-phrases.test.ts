import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../../src/errors/speech-error.js'
import type { Engine, PhraseFault } from '../src/engine.js'
import { SharedEngine } from '../src/models/shared-engine.js'
import { createSegmentEngine } from '../src/segment-engine.js'
import { withSegmentRetry } from '../src/segment-retry.js'
import { readSessionPhrases, requirePhrases } from '../src/session-phrases.js'
import { traceSegments } from '../src/traced-engine.js'
import { EngineUse } from '../../server/src/operations/engine-use.js'
import { TraceSpan } from '../../../src/tracing/open-telemetry.js'

const engineWith = (checkPhrases?: (phrases: readonly string[]) => Promise<readonly PhraseFault[]>): Engine =>
  createSegmentEngine({
    capabilities: {
      ...{ sampleRateHz: 8000, partials: false, words: false, kind: 'grammar', segmentsAtOnce: 1 },
      phrases: true,
    },
    openChannel: () => () => ({ write: () => undefined, close: () => undefined, abort: () => undefined }),
    checkPhrases,
  })

/** Wraps the engine; no segment is traced here. */
const span = Object.create(TraceSpan.prototype) as TraceSpan

const refusalOf = (engine: Engine, phrases: readonly string[] = ['one']): Promise<unknown> =>
  requirePhrases(engine, phrases, 'Phrases').then(
    () => 'taken',
    (error: unknown) => error,
  )

describe('readSessionPhrases', () => {
  it('ignores letter case, punctuation and white space, and keeps the order', () => {
    expect(readSessionPhrases([' Call  Maria, please! ', 'It’s José', 'call maria please'], 'phrases')).toEqual([
      'call maria please',
      "it's josé",
      'call maria please',
    ])
    expect(readSessionPhrases(['Jose\u0301'], 'phrases')).toEqual(['josé'])
    expect(() => readSessionPhrases(['hel\u200blo'], 'Phrases')).toThrow(
      String.raw`Phrases[0] has "hel\u200blo", which`,
    )
    expect(readSessionPhrases([], 'phrases')).toBeUndefined()
    expect(readSessionPhrases(undefined, 'phrases')).toBeUndefined()
  })

  it('accepts what the limits allow', () => {
    const longest = Array.from({ length: 100 }, () => `${'no '.repeat(9)}${'o'.repeat(173)}`)
    expect(longest[0]).toHaveLength(200)
    expect(readSessionPhrases(longest, 'phrases')).toEqual(longest)
  })
})

describe('requirePhrases', () => {
  it('takes phrases that no engine objects to, and asks nothing without phrases', async () => {
    expect(await refusalOf(engineWith())).toBe('taken')
    expect(await refusalOf(engineWith(() => Promise.resolve([])))).toBe('taken')
    const asking = engineWith(() => Promise.reject(new Error('asked')))
    await expect(requirePhrases(asking, undefined, 'Phrases')).resolves.toBeUndefined()
  })

  it('names as many faults as a client shows, and always the first', async () => {
    const faults = [1, 20, 3].map((index) => ({ index, reason: `has ${'x'.repeat(100)}.` }))
    const error = await refusalOf(engineWith(() => Promise.resolve(faults)))
    expect(error).toMatchObject({
      code: 'invalid-field',
      message: `Phrases[1] has ${'x'.repeat(100)}. Phrases[20] has ${'x'.repeat(100)}.`,
    })
    const whole = await refusalOf(engineWith(() => Promise.resolve([{ reason: 'cannot be added.' }])))
    expect(whole).toMatchObject({ code: 'invalid-field', message: 'Phrases cannot be added.' })
  })

  it('passes on the error of an engine that cannot check phrases', async () => {
    const error = new SpeechError('engine-failed', 'It is gone.')
    expect(await refusalOf(engineWith(() => Promise.reject(error)))).toBe(error)
  })

  it('asks the engine that retries, reloads, traces and counts are wrapped around', async () => {
    const asked: string[] = []
    const engine = engineWith((phrases) => {
      asked.push(phrases.join())
      return Promise.resolve([{ index: 0, reason: 'is refused.' }])
    })
    const shared = await new SharedEngine(Promise.resolve(engine)).engine
    const use = new EngineUse(() => 0)
    const wrapped = [withSegmentRetry(engine), shared, traceSegments(engine, span), use.watch(engine)]
    for (const [at, one] of wrapped.entries()) {
      expect(await refusalOf(one, [`phrase ${at}`])).toMatchObject({ message: 'Phrases[0] is refused.' })
    }
    expect(asked).toEqual(['phrase 0', 'phrase 1', 'phrase 2', 'phrase 3'])
  })

  it('fails after the engine was closed', async () => {
    const engine = engineWith(() => Promise.resolve([]))
    await engine.close()
    expect(await refusalOf(engine)).toMatchObject({ code: 'engine-failed' })
  })
})
