import { concat, concatMap, delay, from, NEVER, of, Subject, type Observable } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../../../src/errors/speech-error.js'
import type { ChannelEvent } from '../../src/recognition/channel-event.js'
import { defaultSegmenterParameters } from '../../src/recognition/segmenter-parameters.js'
import { brief, join, scriptedEngine, scriptedFront, silence, speech } from './scripted-channel.js'
import { channel, results, texts, utterance, virtual } from './virtual-channel.js'

describe('recognizeChannel', () => {
  it('emits voice events, milestones and one final; each later milestone begins with the separator', () => {
    virtual(({ cold, expectObservable, expectSubscriptions }, scheduler) => {
      const engine = scriptedEngine({ texts: ['one', 'two'] })
      const source$ = cold('  a---------b---------|', { a: utterance, b: utterance })
      const subscriptions = ' ^-------------------!'
      const expected = '      (sem)-----(SEM)-----(F|)'
      expectObservable(source$.pipe(channel({ engine, scheduler }), results)).toBe(expected, texts)
      expectSubscriptions(source$.subscriptions).toBe(subscriptions)
    })
  })

  const twoSentences = join(speech(500), silence(250), speech(500), silence(900))
  const early = ['started 0 @60', 'ended 0-620', 'milestone 0-620 "one"', 'started 620 @810', 'ended 620-1650']
  const earlyEnd = ['milestone 620-1650 " two"', 'final 0-1650 "one two" finalized']

  it('ends a sentence that is complete after a shorter silence, and begins the next where it ended', () => {
    virtual(({ flush }, scheduler) => {
      const engine = scriptedEngine({ texts: ['one', 'two'], checks: [true] })
      const output: string[] = []
      of(twoSentences)
        .pipe(channel({ engine, scheduler }), results)
        .subscribe((event) => output.push(event))
      flush()
      expect(output).toEqual([...early, ...earlyEnd])
      const samples = engine.parts.flatMap((part) => (part.type === 'audio' ? [...part.samples] : []))
      expect(Int16Array.from(samples)).toEqual(twoSentences.subarray(0, 1650))
    })
  })

  it.each([0, 1, 7, 400, 5000])(
    'decides the same when the engine answers after %d ms while audio arrives',
    (checkMs) => {
      virtual(({ flush }, scheduler) => {
        const checks = [false, true]
        const texts = ['one', 'two']
        const run = (source$: Observable<Int16Array>, engine: ReturnType<typeof scriptedEngine>): string[] => {
          const output: string[] = []
          source$.pipe(channel({ engine, scheduler }), results).subscribe((event) => output.push(event))
          flush()
          return output
        }
        const atOnce = run(of(twoSentences), scriptedEngine({ texts, checks }))
        const chunks = Array.from({ length: 108 }, (_none, at) => twoSentences.slice(20 * at, 20 * at + 20))
        const paced$ = from(chunks).pipe(concatMap((chunk) => of(chunk).pipe(delay(20, scheduler))))
        const paced = run(paced$, scriptedEngine({ texts, checks, checkMs }))
        expect(atOnce).toContain('ended 0-670')
        expect(paced.toSorted()).toEqual(atOnce.toSorted())
      })
    },
  )

  it('does not count audio as processed that waits for an answer, and ends nothing by the clock meanwhile', () => {
    virtual(({ flush }, scheduler) => {
      const engine = scriptedEngine({ texts: ['one'], checks: [true], checkMs: 20_000 })
      const events: ChannelEvent[] = []
      const processed = (): number =>
        events.reduce((sum, event) => sum + (event.type === 'progress' ? event.sampleCount : 0), 0)
      const subscription = concat(of(join(speech(500), silence(600)), silence(300)), NEVER)
        .pipe(channel({ engine, scheduler, finalizeAfterMs: 8_000 }))
        .subscribe((event) => events.push(event))
      scheduler.schedule(() => {
        expect(processed()).toBe(620)
        expect(events.some(({ type }) => type === 'speech-ended' || type === 'final')).toBe(false)
      }, 19_000)
      scheduler.schedule(() => {
        expect(processed()).toBe(1400)
        expect(events.filter(({ type }) => type === 'speech-ended')).toEqual([
          { type: 'speech-ended', startMs: 0, endMs: 620 },
        ])
        subscription.unsubscribe()
      }, 21_000)
      flush()
    })
  })

  it('ends after the answer if the audio ended or a drain began before it', () => {
    virtual(({ cold, expectObservable }, scheduler) => {
      const rows = {
        s: 'started 0 @60',
        e: 'ended 0-620',
        m: 'milestone 0-620 "one"',
        f: 'final 0-620 "one" finalized',
      }
      const audio = join(speech(500), silence(120))
      for (const drain$ of [NEVER, cold('  --d')]) {
        const engine = scriptedEngine({ texts: ['one'], checks: [true], checkMs: 8 })
        const source$ = drain$ === NEVER ? cold('a-|', { a: audio }) : cold('a', { a: audio })
        expectObservable(source$.pipe(channel({ engine, scheduler, drain$ }), results)).toBe('s-------(emf|)', rows)
      }
    })
  })

  it('frees everything at once when it is unsubscribed while the engine is asked', () => {
    virtual(({ cold, expectObservable }, scheduler) => {
      const engine = scriptedEngine({ texts: ['one'], checks: [true], checkMs: 100 })
      const front = scriptedFront()
      const source$ = cold('a', { a: join(speech(500), silence(300)) })
      expectObservable(source$.pipe(channel({ engine, scheduler }, front), results), '^---!').toBe('s', texts)
      scheduler.schedule(() => {
        expect(engine.running()).toBe(0)
        expect(front.held()).toBe(0)
      }, 5)
    })
  })

  it('does not ask an engine without checks, nor with a complete silence of 0', () => {
    virtual(({ flush }, scheduler) => {
      for (const [checks, completeSilenceMs] of [
        [undefined, 120],
        [[true], 0],
      ] as const) {
        const engine = scriptedEngine({ texts: ['one'], ...(checks && { checks }) })
        const parameters = { ...defaultSegmenterParameters, gracefulSilenceThresholdMs: 0, completeSilenceMs }
        of(utterance).pipe(channel({ engine, scheduler, parameters })).subscribe()
        flush()
        expect(engine.parts.map(({ type }) => type)).not.toContain('check')
        expect(engine.parts.at(-1)).toMatchObject({ type: 'close', endMs: 900 })
      }
    })
  })

  it('reports each 30 s of silence, and none that is shorter', () => {
    virtual(({ cold, expectObservable }, scheduler) => {
      const engine = scriptedEngine({ texts: ['one'] })
      const values = { a: silence(29_900), b: silence(100), c: silence(35_000) }
      const source$ = cold('a---b---c---|', values)
      const expected = '    ----q---r---(f|)'
      const rows = { q: 'silence 0-29640', r: 'silence 29640-59640', f: 'final 0-65000 "" finalized' }
      expectObservable(source$.pipe(channel({ engine, scheduler }), results)).toBe(expected, rows)
    })
  })

  it('reports silence after the milestones of all speech before it, even with a slow engine', () => {
    virtual(({ cold, expectObservable }, scheduler) => {
      const engine = scriptedEngine({ texts: ['one', 'two'], decideMs: 8 })
      const source$ = cold('a-------------|', { a: join(speech(200), silence(60_400), speech(200), silence(400)) })
      const expected = '    (seSE)--(mqr)---(Mf|)'
      const rows = {
        s: 'started 0 @60',
        e: 'ended 0-600',
        S: 'started 60300 @60660',
        E: 'ended 60300-61200',
        m: 'milestone 0-600 "one"',
        q: 'silence 600-30240',
        r: 'silence 30240-60240',
        M: 'milestone 60300-61200 " two"',
        f: 'final 0-61200 "one two" finalized',
      }
      expectObservable(source$.pipe(channel({ engine, scheduler }), results)).toBe(expected, rows)
    })
  })

  it('reports no silence after speech that the engine never decides', () => {
    virtual(({ cold, expectObservable }, scheduler) => {
      const engine = scriptedEngine({ texts: ['one'], decideMs: 10_000 })
      const source$ = cold('a----', { a: join(utterance, silence(30_000)) })
      expectObservable(source$.pipe(channel({ engine, scheduler }), results), '^---!').toBe('(se)', texts)
    })
  })

  it('flushes the open segment on completion and completes after its milestone and the final', () => {
    virtual(({ cold, expectObservable, expectSubscriptions }, scheduler) => {
      const engine = scriptedEngine({ texts: ['one'], decideMs: 5 })
      const source$ = cold('  a----|', { a: speech(500) })
      const subscriptions = ' ^----!'
      const expected = '      s----e----(mf|)'
      const values = { ...texts, e: 'ended 0-500', m: 'milestone 0-500 "one"', f: 'final 0-500 "one" finalized' }
      expectObservable(source$.pipe(channel({ engine, scheduler }), results)).toBe(expected, values)
      expectSubscriptions(source$.subscriptions).toBe(subscriptions)
    })
  })

  it('emits an empty final for empty audio', () => {
    virtual(({ cold, expectObservable, expectSubscriptions }, scheduler) => {
      const source$ = cold<Int16Array>('  --|')
      const subscriptions = ' ^-!'
      const expected = '      --(n|)'
      expectObservable(source$.pipe(channel({ engine: scriptedEngine({ texts: [] }), scheduler }), results)).toBe(
        expected,
        texts,
      )
      expectSubscriptions(source$.subscriptions).toBe(subscriptions)
    })
  })

  it('ends as idle when no audio ever arrives', () => {
    virtual(({ cold, expectObservable, expectSubscriptions }, scheduler) => {
      const source$ = cold<Int16Array>('  -')
      const subscriptions = ' ^ 29999ms !'
      const expected = '      30s (x|)'
      expectObservable(source$.pipe(channel({ engine: scriptedEngine({ texts: [] }), scheduler }), results)).toBe(
        expected,
        texts,
      )
      expectSubscriptions(source$.subscriptions).toBe(subscriptions)
    })
  })

  it('never ends if both rules of the wall clock are off', () => {
    virtual(({ cold, expectObservable, expectSubscriptions }, scheduler) => {
      const off = { closeAfterSilentWallMs: 0, finalizeAfterMs: 0 }
      const source$ = cold('  a-----', { a: speech(500) })
      const subscriptions = ' ^-----'
      const expected = '      s-----'
      const event$ = source$.pipe(channel({ engine: scriptedEngine({ texts: [] }), scheduler, ...off }), results)
      expectObservable(event$).toBe(expected, texts)
      expectSubscriptions(source$.subscriptions).toBe(subscriptions)
    })
  })

  it('passes an error of the source on, without a final, and releases its resources', () => {
    virtual(({ cold, expectObservable, expectSubscriptions, flush }, scheduler) => {
      const engine = scriptedEngine({ texts: [] })
      const front = scriptedFront()
      const source$ = cold('  a--#', { a: speech(500) })
      const subscriptions = ' ^--!'
      const expected = '      s--#'
      expectObservable(source$.pipe(channel({ engine, scheduler }, front), results)).toBe(expected, texts)
      expectSubscriptions(source$.subscriptions).toBe(subscriptions)
      flush()
      expect([engine.running(), front.held()]).toEqual([0, 0])
    })
  })

  it('passes an error of the engine on and unsubscribes from the source', () => {
    virtual(({ cold, expectObservable, expectSubscriptions, flush }, scheduler) => {
      const fails = new SpeechError('engine-failed', 'The engine failed.')
      const front = scriptedFront()
      const source$ = cold('  --a--b', { a: speech(500), b: speech(10) })
      const subscriptions = ' ^-!'
      const expected = '      --(s#)'
      const event$ = source$.pipe(channel({ engine: scriptedEngine({ texts: [], fails }), scheduler }, front), results)
      expectObservable(event$).toBe(expected, texts, fails)
      expectSubscriptions(source$.subscriptions).toBe(subscriptions)
      flush()
      expect(front.held()).toBe(0)
    })
  })

  it('aborts the engine and releases the detector on unsubscription', () => {
    virtual(({ cold, expectObservable, expectSubscriptions, flush }, scheduler) => {
      const engine = scriptedEngine({ texts: ['one'], decideMs: 50 })
      const front = scriptedFront()
      const source$ = cold('  a----b', { a: utterance, b: utterance })
      const unsubscribe = '   ---!'
      const subscriptions = ' ^--!'
      const expected = '      (se)'
      expectObservable(source$.pipe(channel({ engine, scheduler }, front), results), unsubscribe).toBe(expected, texts)
      expectSubscriptions(source$.subscriptions).toBe(subscriptions)
      flush()
      expect([engine.running(), front.held()]).toEqual([0, 0])
    })
  })

  it('starts again for each subscription', () => {
    virtual(({ cold, expectObservable, expectSubscriptions }, scheduler) => {
      const source$ = cold('  a---------|', { a: utterance })
      const first = '         ^---------!'
      const second = '        --------------------^---------!'
      const event$ = source$.pipe(channel({ engine: scriptedEngine({ texts: ['one'] }), scheduler }), results)
      expectObservable(event$, '^').toBe('(sem)-----(f|)', texts)
      expectObservable(event$, '--------------------^').toBe('--------------------(sem)-----(f|)', texts)
      expectSubscriptions(source$.subscriptions).toBe([first, second])
    })
  })

  it('keeps the order when a consumer sends or ends audio during an event', () => {
    const input$ = new Subject<Int16Array>()
    const emitted: string[] = []
    input$.pipe(channel({ engine: scriptedEngine({ texts: ['one', 'two'] }) }), results).subscribe((event) => {
      emitted.push(event)
      if (event === texts.s) input$.next(utterance)
      if (event === texts.M) input$.complete()
    })
    input$.next(utterance)
    expect(emitted).toEqual([texts.s, texts.e, texts.m, texts.S, texts.E, texts.M, texts.F])
  })

  it('stops immediately when a consumer unsubscribes during an event', () => {
    const input$ = new Subject<Int16Array>()
    const front = scriptedFront()
    const engine = scriptedEngine({ texts: ['one'] })
    const emitted: string[] = []
    const subscription = input$.pipe(channel({ engine }, front), results).subscribe((event) => {
      emitted.push(event)
      subscription.unsubscribe()
    })
    input$.next(utterance)
    expect(emitted).toEqual([texts.s])
    expect([engine.running(), front.held(), input$.observed]).toEqual([0, 0, false])
  })
})

describe('the events of recognizeChannel', () => {
  const run = (
    engine: ReturnType<typeof scriptedEngine>,
    chunks: readonly Int16Array[],
    more = {},
  ): readonly ChannelEvent[] => {
    const emitted: ChannelEvent[] = []
    of(...chunks)
      .pipe(channel({ engine, ...more }))
      .subscribe((event) => emitted.push(event))
    return emitted
  }

  it('omits milestones without text; the first with text has no separator', () => {
    const events = run(scriptedEngine({ texts: [' ', 'two', 'three'] }), [utterance, utterance, utterance])
    expect(events.flatMap((event) => (event.type === 'milestone' ? [event.text] : []))).toEqual(['two', ' three'])
    expect(events.at(-1)).toMatchObject({ type: 'final', text: 'two three', startMs: 900, endMs: 2700 })
  })

  it('joins milestones with the given separator', () => {
    const events = run(scriptedEngine({ texts: ['一', '二'] }), [utterance, utterance], { separator: '' })
    expect(events.at(-1)).toMatchObject({ text: '一二' })
  })

  it('weighs the confidence of words by their length', () => {
    const word = (startMs: number, endMs: number, confidence: number) => ({ text: 'w', startMs, endMs, confidence })
    const words = [[word(0, 100, 1), word(100, 400, 0.6)], [word(900, 1300, 0.2)]]
    const events = run(scriptedEngine({ texts: ['one', 'two'], words }), [utterance, utterance])
    const sure = events.flatMap((event) => ('confidence' in event ? [event.confidence] : []))
    expect(sure).toEqual([expect.closeTo(0.7), expect.closeTo(0.2), expect.closeTo(0.45)])
  })

  it('has no confidence in a final without words', () => {
    expect(run(scriptedEngine({ texts: [''] }), [utterance]).at(-1)).not.toHaveProperty('confidence')
  })

  it('emits a partial only for a changed text, up to the processed audio', () => {
    const partials = ['', 'o', 'o', ' one ']
    const events = run(scriptedEngine({ texts: ['one'], partials }), [speech(800)])
    expect(events.filter(({ type }) => type === 'partial').map(brief)).toEqual([
      'partial 0-400 "o"',
      'partial 0-800 "one"',
    ])
  })

  it('ends at a graceful silence and drops the rest of the same message', () => {
    const parameters = { ...defaultSegmenterParameters, gracefulSilenceThresholdMs: 1000 }
    const engine = scriptedEngine({ texts: ['one', 'two'] })
    const events = run(engine, [join(speech(500), silence(2000), speech(500)), utterance], { parameters })
    expect(events.filter(({ type }) => type !== 'progress').map(brief)).toEqual([
      texts.s,
      texts.e,
      texts.m,
      'final 0-900 "one" graceful-silence',
    ])
  })

  it('does not end at a graceful silence when that is off', () => {
    const parameters = { ...defaultSegmenterParameters, gracefulSilenceThresholdMs: 1000 }
    const events = run(scriptedEngine({ texts: ['one', 'two'] }), [utterance, silence(2000), utterance], {
      parameters,
      graceful: 'off',
    })
    expect(events.at(-1)).toMatchObject({ text: 'one two', cause: 'finalized' })
  })

  it('reports progress for every sample by its end', () => {
    const engine = scriptedEngine({ texts: ['one', 'two'] })
    const events = run(engine, [silence(700), join(utterance, speech(333)), silence(17)])
    const done = events.reduce((sum, event) => sum + (event.type === 'progress' ? event.sampleCount : 0), 0)
    expect(done).toBe(700 + 900 + 333 + 17)
  })
})
