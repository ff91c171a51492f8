import { concat, EMPTY, map, NEVER, Observable, of, Subject, throwError } from 'rxjs'
import { TestScheduler } from 'rxjs/testing'
import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../../src/errors/speech-error.js'
import type { Hypothesis, SegmentPart } from '../../../src/service/engines/engine.js'
import { retrySegments, withSegmentRetry, type RetryOptions } from '../../../src/service/engines/segment-retry.js'
import { scriptedEngine } from '../../../src/testing/scripted-engine.js'
import { VirtualClock } from '../virtual-clock.js'
import { breakingEngine } from './breaking-engine.js'

const open = (startMs = 0): SegmentPart => ({ type: 'open', startMs })
/** 300 ms, in which the scripted engine hears one word. */
const audio = (sampleCount = 2400): SegmentPart => ({ type: 'audio', samples: new Int16Array(sampleCount) })
const close = (endMs: number): SegmentPart => ({ type: 'close', endMs })

const brief = (one: Hypothesis): string => {
  switch (one.type) {
    case 'partial':
      return `partial ${one.startMs} ${one.text}`
    case 'segment':
      return `segment ${one.startMs}-${one.endMs} ${one.text}`
    case 'progress':
      return `progress ${one.sampleCount}`
    case 'fault':
      return `fault ${one.startMs} ${one.retried ? 'retried' : 'over'}`
  }
}

const engineOf = (
  breakAtPart: readonly (number | undefined)[],
  options: RetryOptions & { readonly fault?: () => unknown } = {},
) => {
  const broken = breakingEngine(scriptedEngine({ texts: ['one two three'] }), breakAtPart, options.fault)
  return { broken, engine: withSegmentRetry(broken, options) }
}

/** All that is said at once to the parts, and how it ends. */
const say = (engine: ReturnType<typeof engineOf>['engine'], part$: Observable<SegmentPart>): string[] => {
  const said: string[] = []
  part$.pipe(engine.recognize()).subscribe({
    next: (one) => said.push(brief(one)),
    error: (error: unknown) => said.push(`error ${error instanceof SpeechError ? error.code : String(error)}`),
    complete: () => said.push('complete'),
  })
  return said
}

const twoSegments = [open(), audio(), audio(), audio(), close(900), open(1000), audio(), close(1300)]
const unbroken = [
  ...['progress 2400', 'partial 0 one', 'progress 2400', 'partial 0 one two'],
  ...['progress 2400', 'partial 0 one two three', 'segment 0-900 one two three'],
  ...['progress 2400', 'partial 1000 one', 'segment 1000-1300 one two three', 'complete'],
]

const decided = (said: readonly string[]): readonly string[] => said.filter((one) => one.startsWith('segment'))
const told = (said: readonly string[]): number =>
  said.reduce((sum, one) => sum + Number(/^progress (\d+)/.exec(one)?.[1] ?? 0), 0)

describe('retrySegments', () => {
  it('changes nothing where nothing breaks', () => {
    expect(say(engineOf([]).engine, of(...twoSegments))).toEqual(unbroken)
  })

  it('tells the fault and reads the segment again, its partials silent until it is as far as before', () => {
    const { engine, broken } = engineOf([4])
    expect(say(engine, of(...twoSegments))).toEqual([
      ...['progress 2400', 'partial 0 one', 'progress 2400', 'partial 0 one two'],
      ...['fault 0 retried', 'progress 0', 'progress 0', 'progress 0', 'partial 0 one two'],
      ...['progress 1600', 'progress 800', 'partial 0 one two three', 'segment 0-900 one two three'],
      ...unbroken.slice(7),
    ])
    expect(broken.lanes()).toBe(2)
  })

  it.each([1, 2, 3, 4, 5])('decides each segment once and counts each sample once, broken at part %i', (at) => {
    const said = say(engineOf([at]).engine, of(...twoSegments))
    expect(decided(said)).toEqual(decided(unbroken))
    expect(told(said)).toBe(4 * 2400)
    expect(said.at(-1)).toBe('complete')
    expect(said.filter((one) => one.startsWith('fault'))).toEqual(['fault 0 retried'])
  })

  it('allows every segment one fault, and reads no decided one again', () => {
    // The second lane hears the first segment (7 parts, for audio is given again in shorter ones), then breaks in the second
    const said = say(engineOf([5, 8]).engine, of(...twoSegments))
    expect(said.filter((one) => one.startsWith('fault'))).toEqual(['fault 0 retried', 'fault 1000 retried'])
    expect(decided(said)).toEqual(decided(unbroken))
    expect(told(said)).toBe(4 * 2400)
  })

  it('ends with the error when the same segment breaks a third time', () => {
    const { engine, broken } = engineOf([4, 2, 3])
    const said = say(engine, of(...twoSegments))
    expect(said.slice(-2)).toEqual(['fault 0 over', 'error engine-failed'])
    expect(said.filter((one) => one.startsWith('fault'))).toEqual([
      'fault 0 retried',
      'fault 0 retried',
      'fault 0 over',
    ])
    expect(broken.lanes()).toBe(3)
  })

  it('reads a segment again that was not decided, and the one after it that came meanwhile', () => {
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
    const said: string[] = []
    input$.pipe(retrySegments(slow)).subscribe((one) => said.push(brief(one)))
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
    expect(said).toEqual(['fault 0 retried', 'segment 0-20 a', 'fault 50 retried'])
  })

  it('gives again the very samples, also when a part comes while others are given again', () => {
    const input$ = new Subject<SegmentPart>()
    const heard: number[][] = []
    const engine = () => (part$: Observable<SegmentPart>) => {
      const samples: number[] = []
      const first = heard.length === 0
      heard.push(samples)
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
      if (type === 'progress' && heard.length === 2) for (const part of more.splice(0)) input$.next(part)
    })
    for (const length of [1, 999, 4000]) {
      const from = length === 1 ? 0 : length === 999 ? 1 : 1000
      if (from === 0) input$.next(open())
      input$.next({ type: 'audio', samples: numbers.subarray(from, from + length) })
    }
    more = [open(700), { type: 'audio', samples: Int16Array.of(-1, -2) }, close(800)]
    input$.next(close(625))
    expect(heard).toEqual([[...numbers], [...numbers, -1, -2]])
  })

  it('does not read a segment again that is longer than what is kept, and says so', () => {
    const { engine, broken } = engineOf([4], { maxKeptBytes: 2 * 2400 })
    const errors: unknown[] = []
    const said: string[] = []
    of(...twoSegments)
      .pipe(engine.recognize())
      .subscribe({ next: (one) => said.push(brief(one)), error: (error: unknown) => errors.push(error) })
    expect(said.at(-1)).toBe('fault 0 over')
    expect(errors).toMatchObject([{ code: 'engine-failed', message: expect.stringMatching(/too long/) as unknown }])
    expect(broken.lanes()).toBe(1)
  })

  it('keeps a segment up to the bound, and forgets those that are decided', () => {
    const segment = [open(), audio(), audio(), close(600)]
    const said = say(
      engineOf([15], { maxKeptBytes: 2 * 4800 }).engine,
      of(...segment, ...segment, ...segment, ...segment),
    )
    expect(said.filter((one) => one.startsWith('fault'))).toEqual(['fault 0 retried'])
    expect(decided(said)).toHaveLength(4)
  })

  it('takes any error of an engine that has no code for a fault, and none that says it is of no use', () => {
    const errors = [new TypeError('x'), new SpeechError('engine-failed', 'closed', { retryable: false })]
    const ends = errors.map((error) => say(engineOf([2], { fault: () => error }).engine, of(...twoSegments)))
    expect(ends[0]).toContain('fault 0 retried')
    expect(ends[0]?.at(-1)).toBe('complete')
    expect(ends[1]).toEqual(['fault 0 over', 'error engine-failed'])
    const refused = new SpeechError('invalid-model', 'x')
    expect(say(engineOf([2], { fault: () => refused }).engine, of(...twoSegments)).at(-1)).toBe('error invalid-model')
  })

  it("passes an error of the source on without taking it for the engine's", () => {
    const { engine, broken } = engineOf([])
    const failing$ = concat(
      of(open()),
      throwError(() => new SpeechError('engine-failed', 'source')),
    )
    expect(say(engine, failing$)).toEqual(['error engine-failed'])
    expect(broken.lanes()).toBe(1)
  })

  it('completes without an input, and flushes what is open when the input ends', () => {
    expect(say(engineOf([]).engine, EMPTY)).toEqual(['complete'])
    expect(say(engineOf([2]).engine, of(open()))).toEqual(['segment 0-0 one two three', 'complete'])
  })

  it('tells its owner of the faults that are survived, and of no other', () => {
    const faults: SpeechError[] = []
    const { engine } = engineOf([4, 2, 2], { onFault: (error) => faults.push(error) })
    say(engine, of(...twoSegments))
    const survived = { code: 'engine-failed', message: 'A scripted fault.' }
    expect(faults).toMatchObject([survived, survived])
  })

  it('unsubscribes the source and the engine at once, and when the lane has ended', () => {
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

  it('frees the second lane when it is unsubscribed', () => {
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

describe('an engine that is lost', () => {
  const lost = () =>
    new SpeechError('engine-failed', 'Gone.', { cause: new SpeechError('connection-lost', 'The worker ended.') })

  /** When each lane was opened, and what was said, with an engine that is lost so often. */
  const loseTimes = (count: number, more: RetryOptions & { readonly fault?: () => unknown } = {}) => {
    const clock = new VirtualClock()
    const breaks = Array.from({ length: count }, () => 2)
    const { engine, broken } = engineOf(breaks, { fault: lost, scheduler: clock, ...more })
    const input$ = new Subject<SegmentPart>()
    const said: string[] = []
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
      next: (one) => said.push(brief(one)),
      error: (error: unknown) => said.push(`error ${error instanceof SpeechError ? error.code : String(error)}`),
      complete: () => said.push('complete'),
    })
    return { clock, input$, said, openedAtMs, life }
  }

  it('is tried again up to five times within 15 s, while audio goes on, and loses none of it', () => {
    const { clock, input$, said, openedAtMs } = loseTimes(5)
    for (const part of twoSegments.slice(0, 3)) input$.next(part)
    clock.advanceTo(2_000)
    for (const part of twoSegments.slice(3)) input$.next(part)
    input$.complete()
    clock.advanceTo(20_000)
    expect(openedAtMs).toEqual([0, 0, 1_000, 3_500, 8_000, 14_500])
    expect(said.filter((one) => one.startsWith('fault'))).toEqual(Array.from({ length: 5 }, () => 'fault 0 retried'))
    expect(decided(said)).toEqual(decided(unbroken))
    expect(told(said)).toBe(4 * 2400)
    expect(said.at(-1)).toBe('complete')
    expect(clock.waiting).toBe(0)
  })

  it('ends the session when it is lost a sixth time', () => {
    const { clock, input$, said } = loseTimes(6)
    for (const part of twoSegments) input$.next(part)
    clock.advanceTo(20_000)
    expect(said.slice(-2)).toEqual(['fault 0 over', 'error engine-failed'])
    expect(said.filter((one) => one.endsWith('retried'))).toHaveLength(5)
    expect(clock.waiting).toBe(0)
  })

  it('is not waited for beyond 15 s, where each loss takes long to be noticed', () => {
    const clock = new VirtualClock()
    const losses: (() => void)[] = []
    const hanging = () => () => new Observable<Hypothesis>((out) => void losses.push(() => out.error(lost())))
    const said: string[] = []
    of(open(), audio())
      .pipe((part$) => concat(part$, NEVER), retrySegments(hanging, { scheduler: clock }))
      .subscribe({ next: (one) => said.push(brief(one)), error: () => said.push('error') })
    for (const atMs of [0, 10_000, 20_000]) {
      clock.advanceTo(atMs)
      losses.shift()?.()
      clock.advanceTo(atMs + 5_000)
    }
    expect(said).toEqual(['fault 0 retried', 'fault 0 retried', 'fault 0 over', 'error'])
  })

  it('is counted apart from a decoder that fails, and anew for each segment', () => {
    const faults = [lost(), new SpeechError('engine-failed', 'x'), new SpeechError('engine-failed', 'y'), lost()]
    const { clock, input$, said } = loseTimes(4, { fault: () => faults.shift() })
    for (const part of twoSegments) input$.next(part)
    input$.complete()
    clock.advanceTo(20_000)
    expect(said.at(-1)).toBe('complete')
    expect(decided(said)).toEqual(decided(unbroken))
  })

  it('is tried no more once nobody listens', () => {
    const { clock, input$, openedAtMs, life } = loseTimes(6)
    for (const part of twoSegments) input$.next(part)
    life.unsubscribe()
    expect(clock.waiting).toBe(0)
    clock.advanceTo(20_000)
    expect(openedAtMs).toEqual([0, 0])
  })

  it('is given up where the segment grew too long while it was away', () => {
    const { clock, input$, said } = loseTimes(2, { maxKeptBytes: 2 * 4_800 })
    for (const part of [open(), audio(), audio(), audio()]) input$.next(part)
    clock.advanceTo(20_000)
    expect(said.at(-1)).toBe('error engine-failed')
    expect(clock.waiting).toBe(0)
  })
})

describe('an engine that is overloaded', () => {
  it('is not tried again: the client hears of it, and of how long to wait', () => {
    const error = new SpeechError('overloaded', 'x', { retryAfterMs: 700 })
    const faults: SpeechError[] = []
    const { engine, broken } = engineOf([4], { fault: () => error, onFault: (fault) => faults.push(fault) })
    const ends: unknown[] = []
    of(...twoSegments)
      .pipe(engine.recognize())
      .subscribe({ error: (end: unknown) => ends.push(end) })
    expect(ends).toEqual([error])
    expect(faults).toEqual([error])
    expect(broken.lanes()).toBe(1)
  })
})
