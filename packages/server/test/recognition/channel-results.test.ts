import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { EngineProgress } from '../../src/recognition/engine-progress.js'
import { ChannelResults } from '../../src/recognition/channel-results.js'

describe('the results of a channel', () => {
  it('never exceed the received audio, whatever times the engine reports', () => {
    const times = fc.record({
      startMs: fc.integer({ min: 0, max: 5_000 }),
      lengthMs: fc.double({ min: 0, max: 90_000, noNaN: true }),
    })
    fc.assert(
      fc.property(fc.array(times, { maxLength: 5 }), fc.integer({ min: 0, max: 80_000 }), (spans, sampleCount) => {
        const account = new EngineProgress(8000, 8000)
        account.receive(sampleCount)
        const results = new ChannelResults(account, ' ')
        const events = spans.flatMap(({ startMs, lengthMs }) => {
          const span = { startMs, endMs: startMs + lengthMs }
          return results.of({ type: 'segment', ...span, text: 'a', words: [{ text: 'a', confidence: 1, ...span }] })
        })
        for (const event of [...events, ...results.end({ cause: 'finalized', atMs: 99_000 })]) {
          const timed = event.type === 'milestone' ? [event, ...event.words] : event.type === 'final' ? [event] : []
          for (const { startMs, endMs } of timed) {
            expect(endMs).toBeLessThanOrEqual(account.receivedMs)
            expect(startMs).toBeLessThanOrEqual(endMs)
          }
        }
      }),
    )
  })

  it('withhold partials that come within the interval, and say so when that begins and ends', () => {
    const account = new EngineProgress(8000, 8000)
    account.receive(16_000)
    const clock = { ms: 0, intervalMs: 0 }
    const results = new ChannelResults(account, ' ', {
      intervalMs: () => clock.intervalMs,
      clock: { now: () => clock.ms },
    })
    const partial = (text: string, atMs: number) => {
      clock.ms = atMs
      return results
        .of({ type: 'partial', startMs: 0, text })
        .map((event) => (event.type === 'partials-thinned' ? { ...event, type: 'thinned' } : { ...event }))
    }
    const emitted = (text: string) => ({ type: 'partial', startMs: 0, endMs: 2_000, text })
    const thinned = (phase: string) => ({ type: 'thinned', phase, startMs: 2_000, intervalMs: 1_000 })
    expect(partial('a', 0)).toEqual([emitted('a')])
    clock.intervalMs = 1_000
    expect(partial('a b', 500)).toEqual([thinned('begun')])
    expect(partial('a b c', 900)).toEqual([])
    expect(partial('a b c', 1_000)).toEqual([emitted('a b c')])
    expect(partial('a b c d', 1_999)).toEqual([])
    clock.intervalMs = 0
    expect(partial('a b c d', 2_000)).toEqual([thinned('ended'), emitted('a b c d')])
    expect(partial('a b c d e', 2_001)).toEqual([emitted('a b c d e')])
  })

  it('say while the engine thins partials, and that it does no longer also without a segment', () => {
    const account = new EngineProgress(8000, 8000)
    const limits = { service: 0, engine: 0 }
    let asked = 0
    const results = new ChannelResults(account, ' ', {
      intervalMs: () => limits.service,
      engineIntervalMs: () => {
        asked += 1
        return limits.engine
      },
      clock: { now: () => 0 },
    })
    const phases = (service: number, engine: number) => {
      Object.assign(limits, { service, engine })
      return results.thinning().map((event) => 'phase' in event && event.phase)
    }
    expect(phases(0, 1_000)).toEqual([])
    // Audio without speech arrives all the time.
    expect(asked).toBe(0)
    account.send({ type: 'open', startMs: 0 })
    expect(phases(0, 0)).toEqual([])
    expect(phases(0, 1_000)).toEqual(['begun'])
    expect(phases(0, 1_000)).toEqual([])
    expect(results.of({ type: 'partial', startMs: 0, text: 'a' })).toHaveLength(1)
    account.send({ type: 'close', endMs: 100 })
    results.of({ type: 'segment', startMs: 0, endMs: 100, text: 'a', words: [] })
    expect(phases(0, 1_000)).toEqual([])
    expect(phases(500, 0)).toEqual([])
    expect(phases(0, 0)).toEqual(['ended'])
  })

  it('have a confidence only if a word or the segment has one', () => {
    const confidenceOf = (confidences: readonly (number | undefined)[], confidence?: number): unknown => {
      const account = new EngineProgress(8000, 8000)
      account.receive(16_000)
      const words = confidences.map((of, at) => ({ text: 'a', startMs: at, endMs: at + 1, confidence: of }))
      const segment = { type: 'segment', startMs: 0, endMs: 10, text: 'a', words, confidence } as const
      return new ChannelResults(account, ' ')
        .of(segment)
        .map((event) => (event.type === 'milestone' ? (event.confidence ?? 'none') : event.type))
        .at(0)
    }
    expect(confidenceOf([])).toBe('none')
    expect(confidenceOf([undefined])).toBe('none')
    expect(confidenceOf([undefined], 0.4)).toBe(0.4)
    expect(confidenceOf([undefined, 0.8], 0.4)).toBe(0.8)
  })

  it('say what of a partial is stable, also if that alone changes, and nothing of it after the segment', () => {
    const account = new EngineProgress(8000, 8000)
    const results = new ChannelResults(account, ' ')
    const partial = (text: string, stableLength?: number) =>
      results.of({ type: 'partial', startMs: 0, text, stableLength }).map((event) => ({ ...event }))
    const emitted = (text: string, stable?: object) => ({ type: 'partial', startMs: 0, endMs: 0, text, ...stable })
    expect(partial(' one', 0)).toEqual([emitted('one')])
    expect(partial(' one two', 4)).toEqual([emitted('one two', { stableLength: 3 })])
    expect(partial(' one two ', 8)).toEqual([emitted('one two', { stableLength: 7 })])
    expect(partial(' one two', 8)).toEqual([])
    results.of({ type: 'segment', startMs: 0, endMs: 0, text: 'one two', words: [] })
    expect(partial('one two')).toEqual([emitted('one two')])
  })

  it('say that a segment without text matches nothing, and take back its partial', () => {
    const account = new EngineProgress(8000, 8000)
    account.receive(16_000)
    const results = new ChannelResults(account, ' ')
    const segment = { type: 'segment', startMs: 100, endMs: 900, text: ' ', words: [] } as const
    const noMatch = { type: 'no-match', startMs: 100, endMs: 900 }
    const speech = (events: readonly { readonly type: string }[]) => events.filter(({ type }) => type !== 'progress')
    expect(speech(results.of(segment))).toEqual([noMatch])
    results.of({ type: 'partial', startMs: 100, text: 'one' })
    expect(speech(results.of(segment))).toEqual([{ type: 'partial', startMs: 100, endMs: 900, text: '' }, noMatch])
    expect(speech(results.of(segment))).toEqual([noMatch])
    expect(results.end({ cause: 'finalized' }).at(-1)).toMatchObject({ type: 'final', text: '' })
  })

  it('keep the times of an engine within the received audio', () => {
    const account = new EngineProgress(8000, 8000)
    account.receive(16_000)
    const segment = { type: 'segment', startMs: 100.4, endMs: 1_500.6, text: 'a', words: [] } as const
    const [milestone] = new ChannelResults(account, ' ').of(segment)
    expect(milestone).toMatchObject({ startMs: 100, endMs: 1_501 })
  })

  it('have a milestone for each part of a segment, and its silences behind the last one', () => {
    const account = new EngineProgress(8000, 8000)
    account.receive(16_000)
    const results = new ChannelResults(account, ' ')
    account.send({ type: 'open', startMs: 0 })
    account.send({ type: 'audio', samples: new Int16Array(16_000) })
    results.addSilence({ type: 'silence', startMs: 2_000, endMs: 32_000 })
    const part = (text: string, startMs: number, endMs: number, decidedSamples?: number) =>
      results
        .of({ type: 'segment', startMs, endMs, text, words: [], ...(decidedSamples && { decidedSamples }) })
        .map((event) => ('text' in event ? event.text : event.type))
    expect(part('one', 0, 1_000, 8_000)).toEqual(['one', 'progress'])
    expect(account.processedMs).toBe(2_000)
    expect(part('', 1_000, 1_500, 4_000)).toEqual(['no-match', 'progress'])
    expect(part('two', 1_500, 2_000)).toEqual([' two', 'progress', 'silence'])
    expect(results.end({ cause: 'finalized' }).at(-1)).toMatchObject({ text: 'one two', startMs: 0, endMs: 2_000 })
  })
})
