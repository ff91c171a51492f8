import { map, of } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../../../src/errors/speech-error.js'
import type { ChannelEvent } from '../../src/recognition/channel-event.js'
import { brief, join, scriptedEngine, scriptedFront, silence, speech } from './scripted-channel.js'
import { channel, results, texts, utterance, virtual } from './virtual-channel.js'

describe('recognizeChannel by the wall clock', () => {
  it('closes the open segment 1 s after its audio was over and ends after 30 s without audio', () => {
    virtual(({ cold, expectObservable, expectSubscriptions }, scheduler) => {
      const engine = scriptedEngine({ texts: ['one'] })
      const source$ = cold('  a-', { a: speech(500) })
      const subscriptions = ' ^ 29999ms !'
      const expected = '      s 1499ms (em) 28496ms (i|)'
      const values = { ...texts, e: 'ended 0-500', m: 'milestone 0-500 "one"', i: 'final 0-500 "one" idle' }
      expectObservable(source$.pipe(channel({ engine, scheduler }), results)).toBe(expected, values)
      expectSubscriptions(source$.subscriptions).toBe(subscriptions)
    })
  })

  it('counts silent audio as audio', () => {
    virtual(({ cold, expectObservable }, scheduler) => {
      const engine = scriptedEngine({ texts: [] })
      const source$ = cold('  a 899ms b 899ms c', { a: silence(100), b: silence(100), c: silence(100) })
      const expected = '      2800ms (x|)'
      const event$ = source$.pipe(channel({ engine, scheduler, finalizeAfterMs: 1000 }), results)
      expectObservable(event$).toBe(expected, { x: 'final 0-300 "" idle' })
    })
  })

  it.each<[string, number | undefined, string, readonly number[], string, number]>([
    ['counts from the newest audio', undefined, 'a 899ms b 899ms c 99ms |', [100, 100, 100], 's 1899ms (emf|)', 300],
    ['waits for a slow engine', 900, 'a 1999ms b 9ms |', [400, 100], 's 2009ms e 889ms (mf|)', 500],
    [
      'pauses the client while an engine is slower',
      2500,
      'a 2999ms b 9ms |',
      [400, 100],
      's 3009ms e 4489ms (mf|)',
      500,
    ],
  ])('keeps a segment whole, because it %s', (_reason, takeMs, diagram, [a = 0, b = 0, c = 0], expected, endMs) => {
    virtual(({ cold, expectObservable }, scheduler) => {
      const engine = scriptedEngine({ texts: ['one'], takeMs })
      const source$ = cold(diagram, { a: speech(a), b: speech(b), c: speech(c) })
      const [e, m] = [`ended 0-${endMs}`, `milestone 0-${endMs} "one"`]
      const values = { ...texts, e, m, f: `final 0-${endMs} "one" finalized` }
      expectObservable(source$.pipe(channel({ engine, scheduler }), results)).toBe(expected, values)
    })
  })
})

describe('opening a channel', () => {
  it('queues audio until the detector has loaded, and reports no progress before', () => {
    virtual(({ cold, expectObservable }, scheduler) => {
      const front = scriptedFront({ waitMs: 20, scheduler })
      const engine = scriptedEngine({ texts: ['one'] })
      const source$ = cold('         a-b--|', { a: speech(500), b: silence(400) })
      const expected = '20ms (spqrtuemf|)'
      const values = {
        ...texts,
        p: 'progress 200',
        q: 'progress 200',
        r: 'progress 100',
        t: 'progress 200',
        u: 'progress 200',
      }
      expectObservable(source$.pipe(channel({ engine, scheduler }, front), map(brief))).toBe(expected, values)
    })
  })

  it('processes thousands of chunks that arrived before the detector had loaded', () => {
    virtual((_helpers, scheduler) => {
      const front = scriptedFront({ waitMs: 20, scheduler })
      const chunks = Array.from({ length: 5000 }, () => join(speech(100), silence(400)))
      const emitted: ChannelEvent[] = []
      const engine = scriptedEngine({ texts: chunks.map((_chunk, index) => String(index)) })
      of(...chunks)
        .pipe(channel({ engine, scheduler }, front))
        .subscribe((event) => emitted.push(event))
      scheduler.flush()
      expect(emitted.filter(({ type }) => type === 'milestone')).toHaveLength(5000)
      expect(emitted.at(-1)).toMatchObject({ type: 'final', cause: 'finalized' })
    })
  })

  it('releases what opens only after the unsubscription', () => {
    virtual(({ cold, expectObservable, flush }, scheduler) => {
      const front = scriptedFront({ waitMs: 20, scheduler })
      const event$ = cold('a--', { a: utterance }).pipe(
        channel({ engine: scriptedEngine({ texts: [] }), scheduler }, front),
      )
      expectObservable(event$, '--!').toBe('')
      flush()
      expect(front.held()).toBe(0)
    })
  })

  it('passes a failure to open on', () => {
    virtual(({ cold, expectObservable, expectSubscriptions }, scheduler) => {
      const fails = new SpeechError('missing-dependency', 'Install the package.')
      const front = scriptedFront({ waitMs: 3, scheduler, fails })
      const source$ = cold('  a------', { a: utterance })
      const subscriptions = ' ^--!'
      const expected = '      ---#'
      const event$ = source$.pipe(channel({ engine: scriptedEngine({ texts: [] }), scheduler }, front))
      expectObservable(event$).toBe(expected, undefined, fails)
      expectSubscriptions(source$.subscriptions).toBe(subscriptions)
    })
  })
})
