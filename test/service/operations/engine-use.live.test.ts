import { Subject, type Subscription } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { Engine, Hypothesis, SegmentPart } from '../../../src/service/engines/engine.js'
import { EngineUse } from '../../../src/service/operations/engine-use.js'

/** A lane of an engine whose words the test puts into its mouth. */
const lane = (change: Partial<Engine> = {}) => {
  const use = new EngineUse()
  const said$ = new Subject<Hypothesis>()
  const heard: SegmentPart[] = []
  const engine: Engine = {
    capabilities: { sampleRateHz: 8000, partials: true, words: true, kind: 'grammar', segmentsAtOnce: 1 },
    ready: () => Promise.resolve(),
    close: () => Promise.resolve(),
    recognize: () => (part$) => {
      part$.subscribe({ next: (part) => heard.push(part), complete: () => said$.complete() })
      return said$
    },
    ...change,
  }
  const watched = use.watch(engine)
  const open = () => {
    const part$ = new Subject<SegmentPart>()
    const told: Hypothesis[] = []
    const life: Subscription = part$.pipe(watched.recognize()).subscribe((hypothesis) => told.push(hypothesis))
    return { part$, told, life }
  }
  return { use, said$, heard, watched, open }
}

const audio = (ms: number): SegmentPart => ({ type: 'audio', samples: new Int16Array(ms * 8) })
const decided: Hypothesis = { type: 'segment', startMs: 0, endMs: 100, text: '', words: [] }

describe('EngineUse', () => {
  it('passes everything through and counts lanes, open segments and what is queued', () => {
    const { use, said$, heard, open } = lane()
    const { part$, told } = open()
    expect([use.channels, use.segments]).toEqual([1, 0])
    part$.next({ type: 'open', startMs: 0 })
    part$.next(audio(300))
    expect([use.segments, use.queuedMs]).toEqual([1, 300])
    said$.next({ type: 'progress', sampleCount: 800 })
    expect(use.queuedMs).toBe(200)
    part$.next({ type: 'close', endMs: 300 })
    said$.next(decided)
    expect([use.segments, use.queuedMs]).toEqual([0, 0])
    part$.complete()
    expect(use.channels).toBe(0)
    expect(heard.map(({ type }) => type)).toEqual(['open', 'audio', 'close'])
    expect(told).toEqual([{ type: 'progress', sampleCount: 800 }, decided])
  })

  it('takes progress as that of the oldest segment, and of no more than was given', () => {
    const { use, said$, open } = lane()
    const { part$ } = open()
    part$.next({ type: 'open', startMs: 0 })
    part$.next(audio(100))
    part$.next({ type: 'close', endMs: 100 })
    part$.next({ type: 'open', startMs: 100 })
    part$.next(audio(50))
    said$.next({ type: 'progress', sampleCount: 4000 })
    expect(use.queuedMs).toBe(50)
    said$.next(decided)
    expect([use.segments, use.queuedMs]).toEqual([1, 50])
  })

  it('gives back what a lane held that is left', () => {
    const { use, open } = lane()
    const { part$, life } = open()
    part$.next({ type: 'open', startMs: 0 })
    part$.next(audio(300))
    life.unsubscribe()
    expect([use.channels, use.segments, use.queuedMs]).toEqual([0, 0, 0])
  })

  it('sums up the audio that was read and the time that it took, each told once', () => {
    const clock = { ms: 40 }
    const { use, said$, open } = lane({ busyMs: () => clock.ms })
    const { part$ } = open()
    part$.next({ type: 'open', startMs: 0 })
    part$.next(audio(300))
    said$.next({ type: 'progress', sampleCount: 1600 })
    expect(use.sinceLast()).toEqual({ opened: 1, failed: 0, audioMs: 200, busyMs: 40 })
    clock.ms = 65
    said$.next(decided)
    expect(use.sinceLast()).toEqual({ opened: 0, failed: 0, audioMs: 100, busyMs: 25 })
    expect(use.sinceLast()).toEqual({ opened: 0, failed: 0, audioMs: 0, busyMs: 0 })
  })

  it('says nothing of the time of an engine that does not know it, and counts failures', () => {
    const { use, watched } = lane()
    use.failed()
    expect(use.sinceLast()).toEqual({ opened: 1, failed: 1, audioMs: 0 })
    expect(watched.busyMs?.()).toBeUndefined()
  })
})
