import { Subject, type Subscription } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { Engine, Hypothesis, SegmentPart } from '../../../src/service/engines/engine.js'
import { EngineUse } from '../../../src/service/operations/engine-use.js'

/** A lane of an engine whose words the test puts into its mouth. */
const usedEngine = (change: Partial<Engine> = {}) => {
  const use = new EngineUse()
  const output$ = new Subject<Hypothesis>()
  const received: SegmentPart[] = []
  const engine: Engine = {
    capabilities: { sampleRateHz: 8000, partials: true, words: true, kind: 'grammar', segmentsAtOnce: 1 },
    ready: () => Promise.resolve(),
    close: () => Promise.resolve(),
    recognize: () => (part$) => {
      part$.subscribe({ next: (part) => received.push(part), complete: () => output$.complete() })
      return output$
    },
    ...change,
  }
  const watched = use.watch(engine)
  const open = () => {
    const part$ = new Subject<SegmentPart>()
    const hypotheses: Hypothesis[] = []
    const life: Subscription = part$.pipe(watched.recognize()).subscribe((hypothesis) => hypotheses.push(hypothesis))
    return { part$, hypotheses, life }
  }
  return { use, output$, received, watched, open }
}

const audio = (ms: number): SegmentPart => ({ type: 'audio', samples: new Int16Array(ms * 8) })
const decided: Hypothesis = { type: 'segment', startMs: 0, endMs: 100, text: '', words: [] }

describe('EngineUse', () => {
  it('passes everything through and counts lanes, open segments and what is queued', () => {
    const { use, output$, received, open } = usedEngine()
    const { part$, hypotheses } = open()
    expect([use.channels, use.segments]).toEqual([1, 0])
    part$.next({ type: 'open', startMs: 0 })
    part$.next(audio(300))
    expect([use.segments, use.queuedMs]).toEqual([1, 300])
    output$.next({ type: 'progress', sampleCount: 800 })
    expect(use.queuedMs).toBe(200)
    part$.next({ type: 'close', endMs: 300 })
    output$.next(decided)
    expect([use.segments, use.queuedMs]).toEqual([0, 0])
    part$.complete()
    expect(use.channels).toBe(0)
    expect(received.map(({ type }) => type)).toEqual(['open', 'audio', 'close'])
    expect(hypotheses).toEqual([{ type: 'progress', sampleCount: 800 }, decided])
  })

  it('takes progress as that of the oldest segment, and of no more than was given', () => {
    const { use, output$, open } = usedEngine()
    const { part$ } = open()
    part$.next({ type: 'open', startMs: 0 })
    part$.next(audio(100))
    part$.next({ type: 'close', endMs: 100 })
    part$.next({ type: 'open', startMs: 100 })
    part$.next(audio(50))
    output$.next({ type: 'progress', sampleCount: 4000 })
    expect(use.queuedMs).toBe(50)
    output$.next(decided)
    expect([use.segments, use.queuedMs]).toEqual([1, 50])
  })

  it('gives back what a lane held that is left', () => {
    const { use, open } = usedEngine()
    const { part$, life } = open()
    part$.next({ type: 'open', startMs: 0 })
    part$.next(audio(300))
    life.unsubscribe()
    expect([use.channels, use.segments, use.queuedMs]).toEqual([0, 0, 0])
  })

  it('sums up the audio that was read and the time that it took, each told once', () => {
    const clock = { ms: 40 }
    const { use, output$, open } = usedEngine({ busyMs: () => clock.ms })
    const { part$ } = open()
    part$.next({ type: 'open', startMs: 0 })
    part$.next(audio(300))
    output$.next({ type: 'progress', sampleCount: 1600 })
    expect(use.sinceLast()).toEqual({ opened: 1, failed: 0, audioMs: 200, busyMs: 40 })
    clock.ms = 65
    output$.next(decided)
    expect(use.sinceLast()).toEqual({ opened: 0, failed: 0, audioMs: 100, busyMs: 25 })
    expect(use.sinceLast()).toEqual({ opened: 0, failed: 0, audioMs: 0, busyMs: 0 })
  })

  it('says nothing of the time of an engine that does not know it, and counts failures', () => {
    const { use, watched } = usedEngine()
    use.failed()
    expect(use.sinceLast()).toEqual({ opened: 1, failed: 1, audioMs: 0 })
    expect(watched.busyMs?.()).toBeUndefined()
  })
})
