import { from, NEVER, of, Subject, throwError, type Observable } from 'rxjs'
import { TestScheduler } from 'rxjs/testing'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Hypothesis, SegmentListener, SegmentPart } from '../src/engine.js'
import { createSegmentEngine } from '../src/segment-engine.js'
import { fakePool, type FakePool } from './pool/fake-workers.js'

const open = (startMs: number): SegmentPart => ({ type: 'open', startMs })
const audio = (length: number): SegmentPart => ({ type: 'audio', samples: new Int16Array(length) })
const close = (endMs: number): SegmentPart => ({ type: 'close', endMs })
const word = (text: string) => ({ text, startMs: 0, endMs: 100, confidence: 1 })

let fake: FakePool
const channel = () =>
  createSegmentEngine({
    capabilities: { sampleRateHz: 8000, partials: true, words: true, kind: 'dictation', segmentsAtOnce: 4 },
    openChannel: () => (startMs, listener) => fake.pool.open(startMs, listener),
  }).recognize()

interface Received {
  readonly output: Hypothesis[]
  end: unknown
}
const listen = (parts$: Observable<SegmentPart>, onOutput: (hypothesis: Hypothesis) => void = () => undefined) => {
  const received: Received = { output: [], end: undefined }
  const subscription = parts$.pipe(channel()).subscribe({
    next: (value) => {
      received.output.push(value)
      onOutput(value)
    },
    error: (error: unknown) => (received.end = error),
    complete: () => (received.end = 'complete'),
  })
  return { received, subscription }
}

beforeEach(() => {
  fake = fakePool(1, 4)
  fake.pool
    .open(0, {
      progress: () => undefined,
      decidedPart: () => undefined,
      checked: () => undefined,
      decided: () => undefined,
      failed: () => undefined,
    })
    .abort()
  fake.worker(0).events.message({ type: 'ready' })
})
const send = (message: Parameters<(typeof fake.workers)[0]['events']['message']>[0]) =>
  fake.worker(0).events.message(message)

describe('createSegmentEngine', () => {
  it('emits progress, partials and the segment, then completes', () => {
    const { received } = listen(of(open(40), audio(1000), close(165)))
    send({ type: 'progress', segment: 2, sampleCount: 800, partial: 'ten' })
    send({ type: 'progress', segment: 2, sampleCount: 200, partial: 'ten of', stableLength: 3 })
    expect(received.end).toBeUndefined()
    send({ type: 'decided', segment: 2, words: [word('ten'), word('of')] })
    expect(received.output).toEqual([
      { type: 'progress', sampleCount: 800 },
      { type: 'partial', startMs: 40, text: 'ten' },
      { type: 'progress', sampleCount: 200 },
      { type: 'partial', startMs: 40, text: 'ten of', stableLength: 3 },
      { type: 'segment', startMs: 40, endMs: 165, text: 'ten of', words: [word('ten'), word('of')] },
    ])
    expect(received.end).toBe('complete')
  })

  it('asks for a complete sentence after the audio before, without its incomplete frame, and emits the answer', () => {
    const parts$ = new Subject<SegmentPart>()
    const { received } = listen(parts$)
    for (const part of [open(0), audio(1000), { type: 'check' }] as const) parts$.next(part)
    expect(fake.worker(0).posted).toEqual(['open 2', 'audio 2 800', 'check 2'])
    send({ type: 'progress', segment: 2, sampleCount: 800 })
    send({ type: 'checked', segment: 2, isComplete: true })
    parts$.next(audio(600))
    parts$.next(close(200))
    expect(fake.worker(0).posted.slice(3)).toEqual(['audio 2 800', 'close 2'])
    expect(received.output.slice(1)).toEqual([{ type: 'checked', isComplete: true }])
  })

  it('answers for segments that cannot check', () => {
    const output: Hypothesis[] = []
    const engine = createSegmentEngine({
      capabilities: { sampleRateHz: 8000, partials: false, words: true, kind: 'grammar', segmentsAtOnce: 1 },
      openChannel: () => () => ({ write: () => undefined, close: () => undefined, abort: () => undefined }),
    })
    of<SegmentPart[]>(open(0), { type: 'check' })
      .pipe(engine.recognize())
      .subscribe((hypothesis) => output.push(hypothesis))
    expect(output).toEqual([{ type: 'checked', isComplete: false }])
  })

  it('opens each segment in its language, and asks for the opener of another one only when it changes', () => {
    const [asked, segments]: [unknown[], unknown[]] = [[], []]
    const engine = createSegmentEngine({
      capabilities: { sampleRateHz: 8000, partials: false, words: true, kind: 'dictation', segmentsAtOnce: 1 },
      openChannel: (settings) => {
        asked.push(settings)
        return (_startMs, { decided }) => {
          segments.push(settings.language)
          return { write: () => undefined, close: () => decided([]), abort: () => undefined }
        }
      },
    })
    const spokenIn = (language?: string): SegmentPart[] => [{ type: 'open', startMs: 0, language }, close(10)]
    const languages = [undefined, 'fr', 'fr', undefined, 'en']
    from(languages.flatMap(spokenIn))
      .pipe(engine.recognize({ reject: 'low', language: 'en' }))
      .subscribe()
    expect(segments).toEqual(['en', 'fr', 'fr', 'en', 'en'])
    expect(asked).toEqual(['en', 'fr', 'en'].map((language) => ({ reject: 'low', language })))
  })

  it('closes the open segment when the source completes', () => {
    const { received } = listen(of(open(40), audio(1000)))
    send({ type: 'decided', segment: 2, words: [] })
    expect(received.output).toEqual([{ type: 'segment', startMs: 40, endMs: 165, text: '', words: [] }])
    expect(received.end).toBe('complete')
  })

  it('opens the next segment when the one before is decided', () => {
    const { received } = listen(of(open(0), close(10), open(20), audio(800), close(120)))
    expect(fake.worker(0).posted).toEqual(['open 2', 'close 2'])
    send({ type: 'decided', segment: 2, words: [] })
    expect(fake.worker(0).posted).toEqual(['open 2', 'close 2', 'open 3', 'audio 3 800', 'close 3'])
    send({ type: 'decided', segment: 3, words: [] })
    expect(received.output.map(({ type }) => type)).toEqual(['segment', 'segment'])
    expect(received.end).toBe('complete')
  })

  it('handles parts that arrive while a segment is emitted after those that wait', () => {
    const parts$ = new Subject<SegmentPart>()
    const { received } = listen(parts$, ({ type }) => {
      if (type === 'segment' && received.output.length === 1) parts$.next(close(50))
    })
    for (const part of [open(0), close(10), open(20), audio(800)]) parts$.next(part)
    send({ type: 'decided', segment: 2, words: [] })
    expect(fake.worker(0).posted).toEqual(['open 2', 'close 2', 'open 3', 'audio 3 800', 'close 3'])
    expect(received.end).toBeUndefined()
  })

  it('aborts its segment when it is unsubscribed, also during an emission', () => {
    const parts$ = new Subject<SegmentPart>()
    const { received, subscription } = listen(parts$, () => subscription.unsubscribe())
    parts$.next(open(0))
    parts$.next(audio(1600))
    send({ type: 'progress', segment: 2, sampleCount: 800, partial: 'ten' })
    expect(received.output).toEqual([{ type: 'progress', sampleCount: 800 }])
    expect(parts$.observed).toBe(false)
    expect(fake.worker(0).posted.at(-1)).toBe('abort 2')
  })

  it('opens no waiting segment if the subscriber unsubscribes when it receives a segment', () => {
    const parts$ = new Subject<SegmentPart>()
    const { subscription } = listen(parts$, () => subscription.unsubscribe())
    for (const part of [open(0), close(10), open(20), audio(800)]) parts$.next(part)
    send({ type: 'decided', segment: 2, words: [] })
    expect(fake.worker(0).posted).toEqual(['open 2', 'close 2'])
  })

  it('stops a synchronous source when it has failed', () => {
    let given = 0
    const endless = function* (): Generator<SegmentPart> {
      for (; given < 1000; given += 1) yield close(given)
    }
    const { received } = listen(from(endless()))
    expect(received.end).toMatchObject({ code: 'internal' })
    expect(given).toBeLessThan(3)
  })

  it('passes on an error of the source and aborts', () => {
    const parts$ = new Subject<SegmentPart>()
    const { received } = listen(parts$)
    parts$.next(open(0))
    parts$.error(new RangeError('broken'))
    expect(received.end).toEqual(new RangeError('broken'))
    expect(fake.worker(0).posted).toEqual(['open 2', 'abort 2'])
  })

  it('fails with engine-failed when its decoder fails, and unsubscribes the source', () => {
    const parts$ = new Subject<SegmentPart>()
    const { received } = listen(parts$)
    parts$.next(open(0))
    send({ type: 'failed', segment: 2 })
    expect(received.end).toMatchObject({ code: 'engine-failed' })
    expect(parts$.observed).toBe(false)
  })

  it.each([[[audio(1)]], [[close(1)]], [[open(0), open(1)]]])(
    'fails with internal when parts are out of order',
    (parts) => {
      const { received } = listen(of(...parts, open(5)))
      expect(received.end).toMatchObject({ code: 'internal' })
      expect(fake.worker(0).posted.filter((message) => message.startsWith('open')).length).toBeLessThan(2)
    },
  )

  it('is a new channel for every subscription', () => {
    const source$ = of(open(0), close(0)).pipe(channel())
    source$.subscribe()
    source$.subscribe()
    expect(fake.worker(0).posted).toEqual(['open 2', 'close 2', 'open 3', 'close 3'])
  })

  it('completes, fails and waits as the source does while no segment is open', () => {
    const scheduler = new TestScheduler((actual, expected) => expect(actual).toEqual(expected))
    scheduler.run(({ cold, expectObservable, expectSubscriptions }) => {
      const empty$ = cold<SegmentPart>('|')
      const failing$ = cold<SegmentPart>('--#')
      const silent$ = cold<SegmentPart>('-')
      expectObservable(empty$.pipe(channel())).toBe('|')
      expectSubscriptions(empty$.subscriptions).toBe('(^!)')
      expectObservable(failing$.pipe(channel())).toBe('--#')
      expectSubscriptions(failing$.subscriptions).toBe('^-!')
      expectObservable(silent$.pipe(channel()), '^--!').toBe('-')
      expectSubscriptions(silent$.subscriptions).toBe('^--!')
    })
    listen(NEVER)
    listen(throwError(() => new RangeError('x')))
    expect(fake.worker(0).posted).toEqual([])
  })

  it('emits results of parts, and partials of what is left', () => {
    let listener: SegmentListener | undefined
    const closed: unknown[] = []
    const engine = createSegmentEngine({
      capabilities: { sampleRateHz: 8000, partials: true, words: true, kind: 'dictation', segmentsAtOnce: 4 },
      openChannel: () => (_startMs, given) => {
        listener = given
        return { write: () => undefined, close: (...ending) => closed.push(ending), abort: () => undefined }
      },
    })
    const part$ = new Subject<SegmentPart>()
    const output: Hypothesis[] = []
    part$.pipe(engine.recognize()).subscribe((value) => output.push(value))
    part$.next(open(100))
    part$.next(audio(8000))
    listener?.decidedPart(1600, [], { text: 'one' })
    listener?.progress(0, 'two', 3)
    part$.next({ type: 'close', endMs: 1100, after: Int16Array.of(1) })
    listener?.decided([], { text: 'two three' })
    expect(closed).toEqual([[1100, false, Int16Array.of(1)]])
    expect(output).toEqual([
      { type: 'segment', startMs: 100, endMs: 300, decidedSamples: 1600, text: 'one', words: [] },
      { type: 'partial', startMs: 300, text: 'two', stableLength: 3 },
      { type: 'segment', startMs: 300, endMs: 1100, text: 'two three', words: [] },
    ])
  })
})
