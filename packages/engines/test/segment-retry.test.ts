import { concat, concatMap, EMPTY, filter, map, NEVER, Observable, of, Subject, throwError, tap } from 'rxjs'
import { TestScheduler } from 'rxjs/testing'
import { describe, expect, it } from 'vitest'
import { codeOf, SpeechError } from '../../../src/errors/speech-error.js'
import type { Hypothesis, SegmentPart } from '../src/engine.js'
import { retrySegments } from '../src/segment-retry.js'
import {
  audio,
  brief,
  close,
  decided,
  engineOf,
  open,
  outputsOf,
  samplesOf,
  twoSegments,
  undisturbed,
} from './retried-engine.js'

describe('retrySegments', () => {
  it('changes nothing if nothing fails', () => {
    expect(outputsOf(engineOf([]).engine, of(...twoSegments))).toEqual(undisturbed)
  })

  it('takes back no stable text of the attempt before', () => {
    const readings = [
      ['Good evening, all', 'failure'],
      ['good morning all', 'good evening all of us', 'good evening'],
    ]
    const attempts = readings.map((texts) => [...texts])
    const shown: string[] = []
    let attempt = -1
    const recognize = () => (part$: Observable<SegmentPart>) => {
      const texts = attempts[(attempt += 1)] ?? []
      return part$.pipe(
        filter((part) => part.type === 'audio'),
        map((): Hypothesis => {
          const text = texts.shift() ?? ''
          if (text === 'failure') throw new SpeechError('engine-failed', 'It broke.')
          return { type: 'partial', startMs: 0, text, stableLength: attempt === 0 ? 13 : 0 }
        }),
      )
    }
    concat(of(open(), audio(1600), audio(1600), audio(1600)), NEVER)
      .pipe(retrySegments(recognize))
      .subscribe((one) => {
        if (one.type === 'partial')
          shown.push(`${one.text.slice(0, one.stableLength)}|${one.text.slice(one.stableLength)}`)
      })
      .unsubscribe()
    expect(attempt).toBe(1)
    expect(shown).toEqual(['Good evening,| all', 'Good evening,| all of us', 'Good evening,|'])
  })

  it('retries a segment that was cut as one that was cut', () => {
    const cut: SegmentPart = { type: 'close', endMs: 300, isCut: true }
    const closes: SegmentPart[] = []
    const recognize = () => (part$: Observable<SegmentPart>) =>
      part$.pipe(
        filter((part) => part.type === 'close'),
        concatMap((part): Observable<Hypothesis> => {
          closes.push(part)
          return closes.length > 1 ? EMPTY : throwError(() => new SpeechError('engine-failed', 'It broke.'))
        }),
      )
    const subscription = concat(of(open(), audio(), cut), NEVER)
      .pipe(retrySegments(recognize))
      .subscribe()
    expect(closes).toEqual([cut, cut])
    subscription.unsubscribe()
  })

  it('emits the fault and retries the segment, without partials until it has come as far as before', () => {
    const { engine, broken } = engineOf([4])
    expect(outputsOf(engine, of(...twoSegments))).toEqual([
      ...['progress 2400', 'partial 0 one', 'progress 2400', 'partial 0 one two'],
      ...['fault 0 retried', 'progress 0', 'progress 0', 'partial 0 one two'],
      ...['progress 2400', 'partial 0 one two three', 'segment 0-900 one two three'],
      ...undisturbed.slice(7),
    ])
    expect(broken.attempts()).toBe(2)
  })

  it.each([1, 2, 3, 4, 5])('emits each segment once and counts each sample once after a failure at part %i', (at) => {
    const output = outputsOf(engineOf([at]).engine, of(...twoSegments))
    expect(decided(output)).toEqual(decided(undisturbed))
    expect(samplesOf(output)).toBe(4 * 2400)
    expect(output.at(-1)).toBe('complete')
    expect(output.filter((hypothesis) => hypothesis.startsWith('fault'))).toEqual(['fault 0 retried'])
  })

  it('asks again whether a sentence is complete if the engine failed before it answered, and only then', () => {
    const check: SegmentPart = { type: 'check' }
    const asked: SegmentPart[] = [open(), audio(), check]
    expect(outputsOf(engineOf([3]).engine, of(...asked, close(300)))).toEqual([
      ...['progress 2400', 'partial 0 one', 'fault 0 retried', 'progress 0', 'partial 0 one'],
      ...['checked false', 'segment 0-300 one two three', 'complete'],
    ])
    const answered = engineOf([4])
    const parts: SegmentPart[] = []
    const watched = {
      recognize: () => (part$: Observable<SegmentPart>) =>
        part$.pipe(
          tap((part) => parts.push(part)),
          answered.broken.recognize(),
        ),
    }
    const output: string[] = []
    of(...asked, audio(), close(600))
      .pipe(retrySegments(() => watched.recognize()))
      .subscribe((hypothesis) => output.push(brief(hypothesis)))
    expect(output.filter((line) => line.startsWith('checked'))).toEqual(['checked false'])
    expect(parts.filter(({ type }) => type === 'check')).toHaveLength(1)
  })

  it('retries each segment separately, and no decided segment', () => {
    // The second attempt gets the first segment (5 parts) again and fails in the second.
    const output = outputsOf(engineOf([5, 8]).engine, of(...twoSegments))
    expect(output.filter((hypothesis) => hypothesis.startsWith('fault'))).toEqual([
      'fault 0 retried',
      'fault 1000 retried',
    ])
    expect(decided(output)).toEqual(decided(undisturbed))
    expect(samplesOf(output)).toBe(4 * 2400)
  })

  it('fails instead of a retry without the audio that an engine has transferred', () => {
    const transferring = () => (part$: Observable<SegmentPart>) =>
      part$.pipe(
        concatMap((part): Observable<Hypothesis> => {
          if (part.type === 'close') return throwError(() => new SpeechError('engine-failed', 'It broke.'))
          if (part.type === 'audio') structuredClone(part.samples, { transfer: [part.samples.buffer] })
          return part.type === 'open'
            ? EMPTY
            : of({ type: 'segment', startMs: 0, endMs: 50, decidedSamples: 400, text: 'one', words: [] })
        }),
      )
    const output: string[] = []
    of(open(), audio(), close(300))
      .pipe(retrySegments(transferring))
      .subscribe({
        next: (value) => output.push(brief(value)),
        error: (error: unknown) => output.push(`error ${String(codeOf(error))}`),
      })
    expect(output).toEqual(['segment 0-50 one', 'fault 50 over', 'error engine-failed'])
  })

  it('fails when the same segment fails a third time', () => {
    const { engine, broken } = engineOf([4, 2, 3])
    const output = outputsOf(engine, of(...twoSegments))
    expect(output.slice(-2)).toEqual(['fault 0 over', 'error engine-failed'])
    expect(output.filter((hypothesis) => hypothesis.startsWith('fault'))).toEqual([
      'fault 0 retried',
      'fault 0 retried',
      'fault 0 over',
    ])
    expect(broken.attempts()).toBe(3)
  })

  it('retries a segment without a result, and the next one that has arrived meanwhile', () => {
    const input$ = new Subject<SegmentPart>()
    const attempts: SegmentPart['type'][][] = []
    const outs: Subject<Hypothesis>[] = []
    const slow = () => (part$: Observable<SegmentPart>) => {
      const parts: SegmentPart['type'][] = []
      const out$ = new Subject<Hypothesis>()
      attempts.push(parts)
      outs.push(out$)
      part$.subscribe(({ type }) => parts.push(type))
      return out$
    }
    const output: string[] = []
    input$.pipe(retrySegments(slow)).subscribe((value) => output.push(brief(value)))
    for (const part of [open(), audio(160), close(20), open(50), audio(80)]) input$.next(part)
    outs[0]?.error(new SpeechError('engine-failed', 'x'))
    input$.next(close(60))
    expect(attempts).toEqual([
      ['open', 'audio', 'close', 'open', 'audio'],
      ['open', 'audio', 'close', 'open', 'audio', 'close'],
    ])
    outs[1]?.next({ type: 'segment', startMs: 0, endMs: 20, text: 'a', words: [] })
    outs[1]?.error(new SpeechError('engine-failed', 'x'))
    expect(attempts[2]).toEqual(['open', 'audio', 'close'])
    expect(output).toEqual(['fault 0 retried', 'segment 0-20 a', 'fault 50 retried'])
  })

  it('replays the same samples, also if a part arrives during the replay', () => {
    const input$ = new Subject<SegmentPart>()
    const received: number[][] = []
    const engine = () => (part$: Observable<SegmentPart>) => {
      const samples: number[] = []
      const first = received.length === 0
      received.push(samples)
      return part$.pipe(
        map((part): Hypothesis => {
          if (part.type === 'audio') samples.push(...part.samples)
          if (part.type === 'close' && first) throw new SpeechError('engine-failed', 'x')
          return part.type === 'close'
            ? { type: 'segment', startMs: 0, endMs: 0, text: '', words: [] }
            : { type: 'progress', sampleCount: part.type === 'audio' ? part.samples.length : 0 }
        }),
      )
    }
    const numbers = Int16Array.from({ length: 5000 }, (_, at) => at)
    let more: SegmentPart[] = []
    input$.pipe(retrySegments(engine)).subscribe(({ type }) => {
      if (type === 'progress' && received.length === 2) for (const part of more.splice(0)) input$.next(part)
    })
    for (const length of [1, 999, 4000]) {
      const from = length === 1 ? 0 : length === 999 ? 1 : 1000
      if (from === 0) input$.next(open())
      input$.next({ type: 'audio', samples: numbers.subarray(from, from + length) })
    }
    more = [open(700), { type: 'audio', samples: Int16Array.of(-1, -2) }, close(800)]
    input$.next(close(625))
    expect(received).toEqual([[...numbers], [...numbers, -1, -2]])
  })

  it('does not retry a segment that is longer than the buffer, and reports that', () => {
    const { engine, broken } = engineOf([4], { maxKeptBytes: 2 * 2400 })
    const errors: unknown[] = []
    const output: string[] = []
    of(...twoSegments)
      .pipe(engine.recognize())
      .subscribe({ next: (value) => output.push(brief(value)), error: (error: unknown) => errors.push(error) })
    expect(output.at(-1)).toBe('fault 0 over')
    expect(errors).toMatchObject([{ code: 'engine-failed', message: expect.stringMatching(/too long/) as unknown }])
    expect(broken.attempts()).toBe(1)
  })

  it('keeps a segment up to the bound, and drops decided segments', () => {
    const segment = [open(), audio(), audio(), close(600)]
    const output = outputsOf(
      engineOf([15], { maxKeptBytes: 2 * 4800 }).engine,
      of(...segment, ...segment, ...segment, ...segment),
    )
    expect(output.filter((hypothesis) => hypothesis.startsWith('fault'))).toEqual(['fault 0 retried'])
    expect(decided(output)).toHaveLength(4)
  })

  it('retries after an error without a code, and not after one that is not retryable', () => {
    const errors = [new TypeError('x'), new SpeechError('engine-failed', 'closed', { retryable: false })]
    const ends = errors.map((error) => outputsOf(engineOf([2], { fault: () => error }).engine, of(...twoSegments)))
    expect(ends[0]).toContain('fault 0 retried')
    expect(ends[0]?.at(-1)).toBe('complete')
    expect(ends[1]).toEqual(['fault 0 over', 'error engine-failed'])
    const refused = new SpeechError('invalid-model', 'x')
    expect(outputsOf(engineOf([2], { fault: () => refused }).engine, of(...twoSegments)).at(-1)).toBe(
      'error invalid-model',
    )
  })

  it('passes on an error of the source and does not retry it', () => {
    const { engine, broken } = engineOf([])
    const failing$ = concat(
      of(open()),
      throwError(() => new SpeechError('engine-failed', 'source')),
    )
    expect(outputsOf(engine, failing$)).toEqual(['error engine-failed'])
    expect(broken.attempts()).toBe(1)
  })

  it('completes without input, and closes the open segment when the input completes', () => {
    expect(outputsOf(engineOf([]).engine, EMPTY)).toEqual(['complete'])
    expect(outputsOf(engineOf([2]).engine, of(open()))).toEqual(['segment 0-0 one two three', 'complete'])
  })

  it('reports failures that are retried, and no others', () => {
    const faults: SpeechError[] = []
    const { engine } = engineOf([4, 2, 2], { onFault: (error) => faults.push(error) })
    outputsOf(engine, of(...twoSegments))
    const survived = { code: 'engine-failed', message: 'A scripted fault.' }
    expect(faults).toMatchObject([survived, survived])
  })

  it('unsubscribes the source and the engine at once, and when the channel has failed', () => {
    const scheduler = new TestScheduler((actual, expected) => expect(actual).toEqual(expected))
    scheduler.run(({ cold, expectObservable, expectSubscriptions }) => {
      const parts = { o: open(), a: audio(800), c: close(100) }
      const one$ = cold('     o-a-c-a', parts)
      const unsubscribe = '   ---!'
      const subscriptions = ' ^--!'
      expectObservable(one$.pipe(engineOf([2]).engine.recognize(), map(brief)), unsubscribe).toBe('--(fp)', {
        f: 'fault 0 retried',
        p: 'progress 800',
      })
      expectSubscriptions(one$.subscriptions).toBe(subscriptions)
      const two$ = cold('      o-a-c-a', parts)
      const ended = '          ^-!'
      expectObservable(two$.pipe(engineOf([2, 2, 2]).engine.recognize(), map(brief))).toBe(
        '--(ffo#)',
        { f: 'fault 0 retried', o: 'fault 0 over' },
        new SpeechError('engine-failed', 'A scripted fault.'),
      )
      expectSubscriptions(two$.subscriptions).toBe(ended)
    })
  })

  it('unsubscribes the second attempt when it is unsubscribed', () => {
    let running = 0
    const engine = () => (part$: Observable<SegmentPart>) =>
      new Observable<Hypothesis>((subscriber) => {
        running += 1
        subscriber.add(() => (running -= 1))
        subscriber.add(
          part$.subscribe((part) => {
            if (part.type === 'close' && running === 1) subscriber.error(new SpeechError('engine-failed', 'x'))
          }),
        )
      })
    const life = concat(of(open(), audio(), close(300)), NEVER)
      .pipe(retrySegments(engine))
      .subscribe({ error: () => undefined })
    life.unsubscribe()
    expect(running).toBe(0)
  })
})
