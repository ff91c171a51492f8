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

  it('counts from the newest audio, not from the oldest', () => {
    virtual(({ cold, expectObservable }, scheduler) => {
      const engine = scriptedEngine({ texts: ['one'] })
      const source$ = cold('  a 899ms b 899ms c 99ms |', { a: speech(100), b: speech(100), c: speech(100) })
      const expected = '      s 1899ms (emf|)'
      const values = { ...texts, e: 'ended 0-300', m: 'milestone 0-300 "one"', f: 'final 0-300 "one" finalized' }
      expectObservable(source$.pipe(channel({ engine, scheduler }), results)).toBe(expected, values)
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

  it('does not treat a slow engine as a silent client', () => {
    virtual(({ cold, expectObservable }, scheduler) => {
      const engine = scriptedEngine({ texts: ['one'], takeMs: 900 })
      const source$ = cold('  a 1999ms b 9ms |', { a: speech(400), b: speech(100) })
      const expected = '      s 2009ms e 889ms (mf|)'
      const values = { ...texts, e: 'ended 0-500', m: 'milestone 0-500 "one"', f: 'final 0-500 "one" finalized' }
      expectObservable(source$.pipe(channel({ engine, scheduler }), results)).toBe(expected, values)
    })
  })
})

describe('an engine that takes longer for one step than the allowed silence', () => {
  it('keeps its segment whole, because the client is paused meanwhile', () => {
    virtual(({ cold, expectObservable }, scheduler) => {
      const engine = scriptedEngine({ texts: ['one'], takeMs: 2500 })
      const source$ = cold('  a 2999ms b 9ms |', { a: speech(400), b: speech(100) })
      const expected = '      s 3009ms e 4489ms (mf|)'
      const values = { ...texts, e: 'ended 0-500', m: 'milestone 0-500 "one"', f: 'final 0-500 "one" finalized' }
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
