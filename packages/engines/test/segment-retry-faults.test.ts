import { concat, NEVER, Observable, of, Subject, tap } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../../src/errors/speech-error.js'
import { withSession, type Engine, type Hypothesis, type SegmentPart } from '../src/engine.js'
import { retrySegments, withSegmentRetry, type RetryOptions } from '../src/segment-retry.js'
import { VirtualClock } from '../../service/test/virtual-clock.js'
import { audio, brief, close, decided, engineOf, open, samplesOf, twoSegments, undisturbed } from './retried-engine.js'

describe('retrySegments with an engine that is lost', () => {
  const lost = () =>
    new SpeechError('engine-failed', 'Gone.', { cause: new SpeechError('connection-lost', 'The worker ended.') })

  /** When each attempt started, and all outputs, with an engine that is lost `count` times. */
  const loseTimes = (count: number, more: RetryOptions & { readonly fault?: () => unknown } = {}) => {
    const clock = new VirtualClock()
    const breaks = Array.from({ length: count }, () => 2)
    const { engine, broken } = engineOf(breaks, { fault: lost, scheduler: clock, ...more })
    const input$ = new Subject<SegmentPart>()
    const output: string[] = []
    const openedAtMs: number[] = []
    const counted = {
      ...engine,
      recognize: () =>
        retrySegments(
          () => {
            openedAtMs.push(clock.now())
            return broken.recognize()
          },
          { scheduler: clock, ...more },
        ),
    }
    const life = input$.pipe(counted.recognize()).subscribe({
      next: (value) => output.push(brief(value)),
      error: (error: unknown) => output.push(`error ${error instanceof SpeechError ? error.code : String(error)}`),
      complete: () => output.push('complete'),
    })
    return { clock, input$, output, openedAtMs, life }
  }

  it('retries up to five times within 15 s, and keeps the audio that arrives meanwhile', () => {
    const { clock, input$, output, openedAtMs } = loseTimes(5)
    for (const part of twoSegments.slice(0, 3)) input$.next(part)
    clock.advanceTo(2_000)
    for (const part of twoSegments.slice(3)) input$.next(part)
    input$.complete()
    clock.advanceTo(20_000)
    expect(openedAtMs).toEqual([0, 0, 1_000, 3_500, 8_000, 14_500])
    expect(output.filter((hypothesis) => hypothesis.startsWith('fault'))).toEqual(
      Array.from({ length: 5 }, () => 'fault 0 retried'),
    )
    expect(decided(output)).toEqual(decided(undisturbed))
    expect(samplesOf(output)).toBe(4 * 2400)
    expect(output.at(-1)).toBe('complete')
    expect(clock.waiting).toBe(0)
  })

  it('reports each failure with its session, segment and attempt', () => {
    const failed: unknown[] = []
    const { input$, clock } = loseTimes(2, {
      sessionId: 'session-1',
      onFault: ({ code }, attempt) => failed.push({ code, ...attempt }),
    })
    for (const part of twoSegments) input$.next(part)
    clock.advanceTo(2_000)
    const segment = { code: 'engine-failed', sessionId: 'session-1', startMs: 0 }
    expect(failed).toEqual([1, 2].map((attempt) => ({ ...segment, attempt })))
  })

  it('passes the session to `onFault`, and the number of the attempt to the engine', () => {
    const attempts: unknown[] = []
    const broken = { ...engineOf([2, 2]).broken }
    const watched: Engine = {
      ...broken,
      recognize: (settings) => (part$) =>
        part$.pipe(
          tap((part) => {
            if (part.type === 'open') attempts.push(part.attempt)
          }),
          broken.recognize(settings),
        ),
    }
    const sessions: unknown[] = []
    const engine = withSession(
      withSegmentRetry(watched, { onFault: (_error, { sessionId }) => sessions.push(sessionId) }),
      's',
    )
    of(...twoSegments)
      .pipe(engine.recognize())
      .subscribe()
    expect(sessions).toEqual(['s', 's'])
    // The second segment begins once.
    expect(attempts).toEqual([undefined, 2, 3, undefined])
  })

  it('fails when the engine is lost a sixth time', () => {
    const { clock, input$, output } = loseTimes(6)
    for (const part of twoSegments) input$.next(part)
    clock.advanceTo(20_000)
    expect(output.slice(-2)).toEqual(['fault 0 over', 'error engine-failed'])
    expect(output.filter((hypothesis) => hypothesis.endsWith('retried'))).toHaveLength(5)
    expect(clock.waiting).toBe(0)
  })

  it('does not retry later than 15 s after the first loss, if each loss is detected late', () => {
    const clock = new VirtualClock()
    const losses: (() => void)[] = []
    const hanging = () => () => new Observable<Hypothesis>((out) => void losses.push(() => out.error(lost())))
    const output: string[] = []
    of(open(), audio())
      .pipe((part$) => concat(part$, NEVER), retrySegments(hanging, { scheduler: clock }))
      .subscribe({ next: (value) => output.push(brief(value)), error: () => output.push('error') })
    for (const atMs of [0, 10_000, 20_000]) {
      clock.advanceTo(atMs)
      losses.shift()?.()
      clock.advanceTo(atMs + 5_000)
    }
    expect(output).toEqual(['fault 0 retried', 'fault 0 retried', 'fault 0 over', 'error'])
  })

  it('counts losses and failures separately, from zero for each segment', () => {
    const faults = [lost(), new SpeechError('engine-failed', 'x'), new SpeechError('engine-failed', 'y'), lost()]
    const { clock, input$, output } = loseTimes(4, { fault: () => faults.shift() })
    for (const part of twoSegments) input$.next(part)
    input$.complete()
    clock.advanceTo(20_000)
    expect(output.at(-1)).toBe('complete')
    expect(decided(output)).toEqual(decided(undisturbed))
  })

  it('does not retry after it was unsubscribed', () => {
    const { clock, input$, openedAtMs, life } = loseTimes(6)
    for (const part of twoSegments) input$.next(part)
    life.unsubscribe()
    expect(clock.waiting).toBe(0)
    clock.advanceTo(20_000)
    expect(openedAtMs).toEqual([0, 0])
  })

  it('fails if the segment has become too long when the retry is due', () => {
    const { clock, input$, output } = loseTimes(2, { maxKeptBytes: 2 * 4_800 })
    for (const part of [open(), audio(), audio(), audio()]) input$.next(part)
    clock.advanceTo(20_000)
    expect(output.at(-1)).toBe('error engine-failed')
    expect(clock.waiting).toBe(0)
  })
})

describe('retrySegments with an engine that is overloaded', () => {
  it('does not retry, and passes on the error with its delay', () => {
    const error = new SpeechError('overloaded', 'x', { retryAfterMs: 700 })
    const faults: SpeechError[] = []
    const { engine, broken } = engineOf([4], { fault: () => error, onFault: (fault) => faults.push(fault) })
    const ends: unknown[] = []
    of(...twoSegments)
      .pipe(engine.recognize())
      .subscribe({ error: (end: unknown) => ends.push(end) })
    expect(ends).toEqual([error])
    expect(faults).toEqual([error])
    expect(broken.attempts()).toBe(1)
  })
})

describe('a segment that is decided in parts', () => {
  const partOf = (text: string, startMs: number, endMs: number, decidedSamples?: number): Hypothesis => ({
    ...{ type: 'segment', startMs, endMs, text, words: [] },
    ...(decidedSamples !== undefined && { decidedSamples }),
  })

  it('is retried from behind its decided part, with the audio before it as context', () => {
    const attempts: SegmentPart[][] = []
    const outputs: Subject<Hypothesis>[] = []
    const recognize = () => (part$: Observable<SegmentPart>) => {
      const parts: SegmentPart[] = []
      const output$ = new Subject<Hypothesis>()
      attempts.push(parts)
      outputs.push(output$)
      return new Observable<Hypothesis>((subscriber) => {
        subscriber.add(part$.subscribe((part) => parts.push(part)))
        subscriber.add(output$.subscribe(subscriber))
      })
    }
    const input$ = new Subject<SegmentPart>()
    const results: string[] = []
    input$.pipe(retrySegments(recognize, { contextSamples: 2 })).subscribe((value) => results.push(brief(value)))
    input$.next(open(100))
    input$.next({ type: 'audio', samples: Int16Array.of(1, 2, 3, 4, 5) })
    outputs[0]?.next({ type: 'progress', sampleCount: 5 })
    outputs[0]?.next(partOf('one', 100, 103, 3))
    outputs[0]?.error(new SpeechError('engine-failed', 'broken', { retryable: true }))
    input$.next(close(105))
    expect(attempts[1]).toEqual([
      { type: 'open', startMs: 103, before: Int16Array.of(2, 3), attempt: 2 },
      { type: 'audio', samples: Int16Array.of(4, 5) },
      close(105),
    ])
    outputs[1]?.next({ type: 'progress', sampleCount: 2 })
    outputs[1]?.next(partOf('two', 103, 105))
    expect(results).toEqual([
      ...['progress 5', 'segment 100-103 one', 'fault 103 retried', 'progress 0', 'segment 103-105 two'],
    ])
  })
})
