import { filter, map, NEVER, type Observable, type OperatorFunction } from 'rxjs'
import { TestScheduler } from 'rxjs/testing'
import { describe, expect, it } from 'vitest'
import type { ChannelEvent } from '../../src/recognition/channel-event.js'
import { recognizeChannel, type RecognizeChannelOptions } from './recognize-channel.js'
import { defaultSegmenterParameters } from '../../src/recognition/segmenter-parameters.js'
import { brief, join, channelRateHz, scriptedEngine, scriptedFront, silence, speech } from './scripted-channel.js'

const virtual = (
  test: (helpers: Parameters<Parameters<TestScheduler['run']>[0]>[0], scheduler: TestScheduler) => void,
) => {
  const scheduler = new TestScheduler((actual, expected) => expect(actual).toEqual(expected))
  scheduler.run((helpers) => test(helpers, scheduler))
}

const channel =
  (drain$: Observable<unknown>, options: Partial<RecognizeChannelOptions> = {}): OperatorFunction<Int16Array, string> =>
  (samples$) => {
    const engine = scriptedEngine({ texts: ['one', 'two'] })
    const parameters = { ...defaultSegmenterParameters, gracefulSilenceThresholdMs: 0 }
    const { open } = scriptedFront()
    return samples$.pipe(
      recognizeChannel({ engine, parameters, sampleRateHz: channelRateHz, drain$, ...options }, open),
      filter(({ type }: ChannelEvent) => type !== 'progress'),
      map(brief),
    )
  }

const events = {
  s: 'started 0 @60',
  e: 'ended 0-900',
  m: 'milestone 0-900 "one"',
  f: 'final 0-900 "one" finalized',
  E: 'ended 0-500',
  M: 'milestone 0-500 "one"',
  F: 'final 0-500 "one" finalized',
  q: 'final 0-700 "" finalized',
}

describe('draining a channel', () => {
  it('continues until the open segment ends and drops later audio, even of the same chunk', () => {
    virtual(({ cold, expectObservable, expectSubscriptions }, scheduler) => {
      const source$ = cold('  a---b---c|', {
        a: speech(300),
        b: speech(200),
        c: join(silence(400), speech(500), silence(400)),
      })
      const subscriptions = ' ^-------!'
      const drain$ = cold('  --x')
      const expected = '      s-------(emf|)'
      expectObservable(source$.pipe(channel(drain$, { scheduler }))).toBe(expected, events)
      expectSubscriptions(source$.subscriptions).toBe(subscriptions)
    })
  })

  it.each([
    ['silence', silence(700)],
    ['a sound too short for speech', join(silence(670), speech(30))],
  ])('ends immediately in %s', (_what, input) => {
    virtual(({ cold, expectObservable }, scheduler) => {
      const source$ = cold('a-------b', { a: input, b: speech(500) })
      const drain$ = cold('--x')
      const expected = '    --(q|)'
      expectObservable(source$.pipe(channel(drain$, { scheduler }))).toBe(expected, events)
    })
  })

  it('ends immediately after a segment', () => {
    virtual(({ cold, expectObservable }, scheduler) => {
      const source$ = cold('a-------b', { a: join(speech(500), silence(400)), b: speech(500) })
      const drain$ = cold('------x')
      const expected = '    (sem)-(f|)'
      expectObservable(source$.pipe(channel(drain$, { scheduler }))).toBe(expected, events)
    })
  })

  it('ends after a second without audio, even if the rules of the wall clock are off', () => {
    virtual(({ cold, expectObservable }, scheduler) => {
      const source$ = cold('a 1199ms b', { a: speech(400), b: speech(100) })
      const drain$ = cold('1s x')
      // It checks twice a second: the first check without new audio is the one at 2 s.
      const expected = '    s 2499ms (EMF|)'
      const options = { scheduler, closeAfterSilentWallMs: 0, finalizeAfterMs: 0 }
      expectObservable(source$.pipe(channel(drain$, options))).toBe(expected, events)
    })
  })

  it('waits while the source is paused', () => {
    virtual(({ cold, expectObservable }, scheduler) => {
      const source$ = cold('a', { a: speech(500) })
      const drain$ = cold('1s x')
      const expected = '    s'
      const options = { scheduler, isPaused: () => true, finalizeAfterMs: 0 }
      expectObservable(source$.pipe(channel(drain$, options)), '^ 10s !').toBe(expected, events)
    })
  })

  it('never ends without drain$', () => {
    virtual(({ cold, expectObservable }, scheduler) => {
      const source$ = cold('a', { a: silence(700) })
      expectObservable(source$.pipe(channel(NEVER, { scheduler, finalizeAfterMs: 0 })), '^ 10s !').toBe('')
    })
  })
})
