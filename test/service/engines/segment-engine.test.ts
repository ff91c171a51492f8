import { from, NEVER, of, Subject, throwError, type Observable } from 'rxjs'
import { TestScheduler } from 'rxjs/testing'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Hypothesis, SegmentPart } from '../../../src/service/engines/engine.js'
import { createSegmentEngine } from '../../../src/service/engines/segment-engine.js'
import { fakePool, type FakePool } from './pool/fake-workers.js'

const open = (startMs: number): SegmentPart => ({ type: 'open', startMs })
const audio = (length: number): SegmentPart => ({ type: 'audio', samples: new Int16Array(length) })
const close = (endMs: number): SegmentPart => ({ type: 'close', endMs })
const word = (text: string) => ({ text, startMs: 0, endMs: 100, confidence: 1 })

let fake: FakePool
const lane = () =>
  createSegmentEngine({
    capabilities: { sampleRateHz: 8000, partials: true, words: true, kind: 'dictation', segmentsAtOnce: 4 },
    openChannel: () => (startMs, listener) => fake.pool.open(startMs, listener),
  }).recognize()

interface Heard {
  readonly said: Hypothesis[]
  end: unknown
}
const listen = (parts$: Observable<SegmentPart>, onSaid: (one: Hypothesis) => void = () => undefined) => {
  const heard: Heard = { said: [], end: undefined }
  const subscription = parts$.pipe(lane()).subscribe({
    next: (one) => {
      heard.said.push(one)
      onSaid(one)
    },
    error: (error: unknown) => (heard.end = error),
    complete: () => (heard.end = 'complete'),
  })
  return { heard, subscription }
}

beforeEach(() => {
  fake = fakePool(1, 4)
  fake.pool.open(0, { progress: () => undefined, decided: () => undefined, failed: () => undefined }).abort()
  fake.worker(0).events.message({ type: 'ready' })
})
const say = (message: Parameters<(typeof fake.workers)[0]['events']['message']>[0]) =>
  fake.worker(0).events.message(message)

describe('createSegmentEngine', () => {
  it('says progress, partials and the segment, then completes', () => {
    const { heard } = listen(of(open(40), audio(1000), close(165)))
    say({ type: 'progress', segment: 2, sampleCount: 800, partial: 'ten' })
    say({ type: 'progress', segment: 2, sampleCount: 200 })
    expect(heard.end).toBeUndefined()
    say({ type: 'decided', segment: 2, words: [word('ten'), word('of')] })
    expect(heard.said).toEqual([
      { type: 'progress', sampleCount: 800 },
      { type: 'partial', startMs: 40, text: 'ten' },
      { type: 'progress', sampleCount: 200 },
      { type: 'segment', startMs: 40, endMs: 165, text: 'ten of', words: [word('ten'), word('of')] },
    ])
    expect(heard.end).toBe('complete')
  })

  it('flushes what is open when the source completes', () => {
    const { heard } = listen(of(open(40), audio(1000)))
    say({ type: 'decided', segment: 2, words: [] })
    expect(heard.said).toEqual([{ type: 'segment', startMs: 40, endMs: 165, text: '', words: [] }])
    expect(heard.end).toBe('complete')
  })

  it('keeps the next segment back until the one before is decided', () => {
    const { heard } = listen(of(open(0), close(10), open(20), audio(800), close(120)))
    expect(fake.worker(0).told).toEqual(['open 2', 'close 2'])
    say({ type: 'decided', segment: 2, words: [] })
    expect(fake.worker(0).told).toEqual(['open 2', 'close 2', 'open 3', 'audio 3 800', 'close 3'])
    say({ type: 'decided', segment: 3, words: [] })
    expect(heard.said.map(({ type }) => type)).toEqual(['segment', 'segment'])
    expect(heard.end).toBe('complete')
  })

  it('puts parts that come while a segment is said behind those that wait', () => {
    const parts$ = new Subject<SegmentPart>()
    const { heard } = listen(parts$, ({ type }) => {
      if (type === 'segment' && heard.said.length === 1) parts$.next(close(50))
    })
    for (const part of [open(0), close(10), open(20), audio(800)]) parts$.next(part)
    say({ type: 'decided', segment: 2, words: [] })
    expect(fake.worker(0).told).toEqual(['open 2', 'close 2', 'open 3', 'audio 3 800', 'close 3'])
    expect(heard.end).toBeUndefined()
  })

  it('aborts its segment when it is unsubscribed, also from within an emission', () => {
    const parts$ = new Subject<SegmentPart>()
    const { heard, subscription } = listen(parts$, () => subscription.unsubscribe())
    parts$.next(open(0))
    parts$.next(audio(1600))
    say({ type: 'progress', segment: 2, sampleCount: 800, partial: 'ten' })
    expect(heard.said).toEqual([{ type: 'progress', sampleCount: 800 }])
    expect(parts$.observed).toBe(false)
    expect(fake.worker(0).told.at(-1)).toBe('abort 2')
  })

  it('opens nothing that waited when it is unsubscribed by who hears the segment', () => {
    const parts$ = new Subject<SegmentPart>()
    const { subscription } = listen(parts$, () => subscription.unsubscribe())
    for (const part of [open(0), close(10), open(20), audio(800)]) parts$.next(part)
    say({ type: 'decided', segment: 2, words: [] })
    expect(fake.worker(0).told).toEqual(['open 2', 'close 2'])
  })

  it('takes no more of a source that gives all at once when it has ended', () => {
    let given = 0
    const endless = function* (): Generator<SegmentPart> {
      for (; given < 1000; given += 1) yield close(given)
    }
    const { heard } = listen(from(endless()))
    expect(heard.end).toMatchObject({ code: 'internal' })
    expect(given).toBeLessThan(3)
  })

  it('passes an error of the source on and aborts', () => {
    const parts$ = new Subject<SegmentPart>()
    const { heard } = listen(parts$)
    parts$.next(open(0))
    parts$.error(new RangeError('broken'))
    expect(heard.end).toEqual(new RangeError('broken'))
    expect(fake.worker(0).told).toEqual(['open 2', 'abort 2'])
  })

  it('ends with engine-failed when its decoder fails, and lets go of the source', () => {
    const parts$ = new Subject<SegmentPart>()
    const { heard } = listen(parts$)
    parts$.next(open(0))
    say({ type: 'failed', segment: 2 })
    expect(heard.end).toMatchObject({ code: 'engine-failed' })
    expect(parts$.observed).toBe(false)
  })

  it.each([[[audio(1)]], [[close(1)]], [[open(0), open(1)]]])(
    'ends with internal when parts come out of order',
    (parts) => {
      const { heard } = listen(of(...parts, open(5)))
      expect(heard.end).toMatchObject({ code: 'internal' })
      expect(fake.worker(0).told.filter((one) => one.startsWith('open')).length).toBeLessThan(2)
    },
  )

  it('is a new lane for every subscription', () => {
    const source$ = of(open(0), close(0)).pipe(lane())
    source$.subscribe()
    source$.subscribe()
    expect(fake.worker(0).told).toEqual(['open 2', 'close 2', 'open 3', 'close 3'])
  })

  it('holds nothing while no segment is open: completes, errors, waits as the source does', () => {
    const scheduler = new TestScheduler((actual, expected) => expect(actual).toEqual(expected))
    scheduler.run(({ cold, expectObservable, expectSubscriptions }) => {
      const empty$ = cold<SegmentPart>('|')
      const failing$ = cold<SegmentPart>('--#')
      const silent$ = cold<SegmentPart>('-')
      expectObservable(empty$.pipe(lane())).toBe('|')
      expectSubscriptions(empty$.subscriptions).toBe('(^!)')
      expectObservable(failing$.pipe(lane())).toBe('--#')
      expectSubscriptions(failing$.subscriptions).toBe('^-!')
      expectObservable(silent$.pipe(lane()), '^--!').toBe('-')
      expectSubscriptions(silent$.subscriptions).toBe('^--!')
    })
    listen(NEVER)
    listen(throwError(() => new RangeError('x')))
    expect(fake.worker(0).told).toEqual([])
  })
})
