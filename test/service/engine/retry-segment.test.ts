import { concat, EMPTY, map, NEVER, Observable, of, Subject, throwError } from 'rxjs'
import { TestScheduler } from 'rxjs/testing'
import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../../src/errors/speech-error.js'
import type { Hypothesis, SegmentPart } from '../../../src/service/engine/engine.js'
import { retrySegment, withSegmentRetry, type RetryOptions } from '../../../src/service/engine/retry-segment.js'
import { scriptedEngine } from '../../../src/testing/scripted-engine.js'
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

describe('retrySegment', () => {
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

  it('ends with the error when the same segment breaks a second time', () => {
    const { engine, broken } = engineOf([4, 2])
    const said = say(engine, of(...twoSegments))
    expect(said.slice(-3)).toEqual(['fault 0 retried', 'fault 0 over', 'error engine-failed'])
    expect(broken.lanes()).toBe(2)
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
    input$.pipe(retrySegment(slow)).subscribe((one) => said.push(brief(one)))
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
    input$.pipe(retrySegment(engine)).subscribe(({ type }) => {
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
    const { engine } = engineOf([4, 2], { onFault: (error) => faults.push(error) })
    say(engine, of(...twoSegments))
    expect(faults).toMatchObject([{ code: 'engine-failed', message: 'A scripted fault.' }])
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
      expectObservable(two$.pipe(engineOf([2, 2]).engine.recognize(), map(brief))).toBe(
        '--(fo#)',
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
      .pipe(retrySegment(engine))
      .subscribe({ error: () => undefined })
    life.unsubscribe()
    expect(running).toBe(0)
  })
})
