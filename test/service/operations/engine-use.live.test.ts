import { Subject, type Subscription } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { Engine, Hypothesis, SegmentPart } from '../../../src/service/engines/engine.js'
import { EngineUse } from '../../../src/service/operations/engine-use.js'

/** A channel of an engine whose output is controlled by the test. */
const usedEngine = (change: Partial<Engine> = {}, now = () => 0) => {
  const use = new EngineUse(now)
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
  it('passes everything through and counts channels, open segments and queued audio', () => {
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

  it('counts progress for the oldest segment, and no more than was sent', () => {
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

  describe('is behind', () => {
    /** Channels whose engine reads nothing, with the audio that each has sent at once. */
    const waiting = (...sentMs: number[]) => {
      const clock = { ms: 0 }
      const { use, open, output$ } = usedEngine({}, () => clock.ms)
      const channels = sentMs.map((ms) => {
        const channel = open()
        channel.part$.next({ type: 'open', startMs: 0 })
        channel.part$.next(audio(ms))
        return channel
      })
      return { use, clock, channels, output$ }
    }

    it('when half of the open segments wait longer than the limit', () => {
      const { use, clock } = waiting(3_000, 3_000, 100, 100)
      clock.ms = 1_000
      expect(use.isBehind(1_000)).toBe(false)
      clock.ms = 1_001
      expect(use.isBehind(1_000)).toBe(true)
    })

    it('not for a single segment, whose audio may be the cause, nor for less than half of them', () => {
      const one = waiting(5_000)
      const few = waiting(5_000, 5_000, 100, 100, 100)
      one.clock.ms = few.clock.ms = 5_000
      expect([one.use.isBehind(1_000), few.use.isBehind(1_000)]).toEqual([false, false])
    })

    it('not when the engine reads files faster than real time, however much of them waits', () => {
      const { use, clock, output$ } = waiting(60_000, 60_000)
      clock.ms = 2_000
      // Progress belongs to each of both channels, which share the output here.
      output$.next({ type: 'progress', sampleCount: 3_000 * 8 })
      expect(use.queuedMs).toBe(114_000)
      expect(use.isBehind(1_000)).toBe(false)
      clock.ms = 4_001
      expect(use.isBehind(1_000)).toBe(true)
    })

    it('never without a limit, nor when its segments are gone', () => {
      const { use, clock, channels } = waiting(3_000, 3_000)
      clock.ms = 3_000
      expect(use.isBehind(0)).toBe(false)
      expect(use.isBehind(1_000)).toBe(true)
      for (const { life } of channels) life.unsubscribe()
      expect(use.isBehind(1_000)).toBe(false)
    })
  })

  it('releases what an unsubscribed channel held', () => {
    const { use, open } = usedEngine()
    const { part$, life } = open()
    part$.next({ type: 'open', startMs: 0 })
    part$.next(audio(300))
    life.unsubscribe()
    expect([use.channels, use.segments, use.queuedMs]).toEqual([0, 0, 0])
  })

  it('sums up the decoded audio and the time that it took, each reported once', () => {
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

  it('omits the time of an engine that does not report it, and counts failures', () => {
    const { use, watched } = usedEngine()
    use.failed()
    expect(use.sinceLast()).toEqual({ opened: 1, failed: 1, audioMs: 0 })
    expect(watched.busyMs?.()).toBeUndefined()
  })
})
