import { config, NEVER, Observable } from 'rxjs'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { DataflowMessage, SocketMessage } from '../../src/transport/link.js'
import { audio, plainDataflow, plainRecognizer, scriptedService, virtually } from './virtual-session.js'

// A session with 10 ms for each step: authorizing 0–10, connecting 10–20, starting 20–30, streaming from 30 on;
// finalize answered after 10 ms.
const states = { authorizing: 5, connecting: 15, starting: 25, streaming: 45 } as const
const idleUntil = { authorizing: 0, connecting: 10, starting: 20, streaming: 30 } as const
const announcedBy = (ms: number): string[] =>
  Object.entries(idleUntil).flatMap(([state, at]) =>
    at > ms ? [] : [...(state === 'streaming' ? [`30 response recognize Success`] : []), `${at} ${state}`],
  )

describe('the three verbs, in every state', () => {
  it('complete: flushes, awaits the final and completes', () => {
    virtually(({ clock, cold, watch, recognizing, expectSubscriptions }) => {
      const service = scriptedService(clock, [plainRecognizer(10)], { connectMs: 10 })
      const token$ = cold('        10ms (t|)', { t: 'secret-token' })
      const source$ = cold('      15ms a 24ms b 19ms |', { a: audio(20), b: audio(20) })
      const subscription = '      ^ 59ms           !'
      const { log } = watch(recognizing({ dial: service.dial, token: token$ })(source$))
      expectSubscriptions(source$.subscriptions).toBe(subscription)
      return () => {
        expect(log).toEqual([
          '0 authorizing',
          '10 connecting',
          '20 starting',
          '30 response recognize Success',
          '30 streaming',
          '60 finalizing',
          '70 response finalize-recognition Success',
          '70 milestone hello',
          '70 final hello',
          '70 done',
          '70 complete',
        ])
        expect(service.received).toEqual([
          '20 recognize',
          '30 audio 20',
          '40 audio 20',
          '60 finalize-recognition',
          '70 end',
        ])
        expect([clock.pending(), service.dials.open]).toEqual([0, 0])
      }
    })
  })

  it.each(Object.entries(states))('finalize$ while %s: sends the audio until then, and no more', (state, at) => {
    virtually(({ clock, cold, watch, recognizing, expectSubscriptions }) => {
      const service = scriptedService(clock, [plainRecognizer(10)], { connectMs: 10 })
      const token$ = cold('10ms (t|)', { t: 'secret-token' })
      const source$ = cold('a 49ms b 49ms |', { a: audio(20), b: audio(20) })
      const { log } = watch(recognizing({ dial: service.dial, token: token$, finalize$: cold(`${at}ms f`) })(source$))
      expectSubscriptions(source$.subscriptions).toBe(`^ ${at - 1}ms !`)
      return () => {
        const finalizingAt = Math.max(30, at)
        expect(service.received).toEqual([
          '20 recognize',
          '30 audio 20',
          `${finalizingAt} finalize-recognition`,
          `${finalizingAt + 10} end`,
        ])
        expect(log.slice(-3)).toEqual(
          [`final hello`, `done`, `complete`].map((value) => `${finalizingAt + 10} ${value}`),
        )
        expect([state, clock.pending(), service.dials.open]).toEqual([state, 0, 0])
      }
    })
  })

  it.each(Object.entries(states))('stop$ while %s: drops what is pending, and reports it', (state, at) => {
    virtually(({ clock, cold, watch, recognizing, expectSubscriptions }) => {
      const service = scriptedService(clock, [plainRecognizer(10)], { connectMs: 10 })
      const token$ = cold('10ms (t|)', { t: 'secret-token' })
      const source$ = cold('a 19ms b', { a: audio(20), b: audio(20) })
      const { log } = watch(recognizing({ dial: service.dial, token: token$, stop$: cold(`${at}ms s`) })(source$))
      expectSubscriptions(source$.subscriptions).toBe(`^ ${at - 1}ms !`)
      return () => {
        const end =
          state === 'streaming'
            ? ['45 gap 0-40 stopped', '55 response stop-recognition Success', '55 stopped', '55 complete']
            : [`${at} gap 0-${at < 20 ? 20 : 40} stopped`, `${at} stopped`, `${at} complete`]
        expect(log).toEqual([...announcedBy(at), ...end])
        expect(service.received.includes('45 stop-recognition')).toBe(state === 'streaming')
        expect([clock.pending(), service.dials.open]).toEqual([0, 0])
      }
    })
  })

  it.each(Object.entries(states))('unsubscribe while %s: releases everything immediately', (_state, at) => {
    virtually(({ clock, cold, watch, recognizing, expectSubscriptions }) => {
      const service = scriptedService(clock, [plainRecognizer(10)], { connectMs: 10 })
      const token$ = cold('10ms (t|)', { t: 'secret-token' })
      const source$ = cold('a 19ms b', { a: audio(20), b: audio(20) })
      const { log } = watch(recognizing({ dial: service.dial, token: token$ })(source$), at)
      expectSubscriptions(source$.subscriptions).toBe(`^ ${at - 1}ms !`)
      clock.schedule(() => {
        expect([clock.pending(), service.dials.open]).toEqual([0, 0])
      }, at)
      return () => expect(log).toEqual(announcedBy(at))
    })
  })

  it('finalizing: stop$ requests the stop, a second finalize$ and an unsubscribe do nothing more', () => {
    virtually(({ clock, cold, watch, recognizing }) => {
      const late = { ...plainRecognizer(10), 'finalize-recognition': [100, finalizeResponse] as const }
      const first = scriptedService(clock, [late])
      const stopped = watch(recognizing({ dial: first.dial, stop$: cold('20ms s') })(cold<Uint8Array>('10ms |')))
      const second = scriptedService(clock, [late])
      const twice = watch(recognizing({ dial: second.dial, finalize$: cold('5ms f') })(cold<Uint8Array>('10ms |')), 20)
      return () => {
        expect(stopped.log.slice(4)).toEqual([
          '10 streaming',
          '10 finalizing',
          '30 response stop-recognition Success',
          '30 stopped',
          '30 complete',
        ])
        expect(first.received).toEqual(['0 recognize', '10 finalize-recognition', '20 stop-recognition', '30 end'])
        expect(second.received).toEqual(['0 recognize', '10 finalize-recognition', '20 end'])
        expect(twice.log.at(-1)).toBe('10 finalizing')
        expect([clock.pending(), first.dials.open, second.dials.open]).toEqual([0, 0, 0])
      }
    })
  })

  it.each([
    ['half-close', ['0 Start', '20 end'], ['20 finalizing', '25 stopped', '25 complete']],
    [
      'request',
      ['0 Start', '20 Finalize', '25 Stop', '35 end'],
      ['20 finalizing', '35 response Stop success', '35 stopped', '35 complete'],
    ],
  ] as const)('stop$ after a finalize by %s ends the stream in the remaining way', (finalizeBy, received, log) => {
    virtually(({ clock, cold, watch, flowing }) => {
      const { Start, Stop } = plainDataflow(10)
      const service = scriptedService<DataflowMessage>(clock, [{ ...(Start && { Start }), ...(Stop && { Stop }) }])
      const watched = watch(
        flowing({ dial: service.dial, finalizeBy, stop$: cold('25ms s') })(cold<Uint8Array>('20ms |')),
      )
      return () => {
        expect(watched.log.slice(5)).toEqual(log)
        expect(service.received).toEqual(received)
        expect([clock.pending(), service.dials.open]).toEqual([0, 0])
      }
    })
  })

  it('does nothing more in done, stopped and failed', () => {
    virtually(({ clock, hot, watch, recognizing }) => {
      const service = scriptedService(clock, [plainRecognizer(0)])
      const stop$ = hot('50ms s')
      const finalize$ = hot('60ms f')
      const { log } = watch(recognizing({ dial: service.dial, stop$, finalize$ })([audio(20)]), 70)
      return () => {
        expect(log.slice(-2)).toEqual(['0 done', '0 complete'])
        expect([stop$.subscriptions.length, clock.pending()]).toEqual([1, 0])
        expect(stop$.subscriptions[0]?.unsubscribedFrame).toBe(0)
      }
    })
  })

  it('is a second session for a second subscriber, with a separate subscription', () => {
    virtually(({ clock, cold, watch, flowing, expectSubscriptions }) => {
      const service = scriptedService(clock, [plainDataflow(10)])
      const source$ = cold<Uint8Array>('20ms |')
      const session$ = flowing({ dial: service.dial, finalizeBy: 'request' })(source$)
      const aborted = watch(session$, 5)
      const whole = watch(session$)
      expectSubscriptions(source$.subscriptions).toBe(['^ 4ms !', '^ 19ms !'])
      return () => {
        expect(aborted.log).toEqual(['0 authorizing', '0 connecting', '0 starting'])
        // Requests of the first session do not concern the second: this response has no name.
        expect(whole.log).toContain('10 response Start success')
        expect(whole.log.slice(-3)).toEqual(['30 response Finalize success', '30 done', '30 complete'])
        expect(service.dials).toEqual({ made: 2, open: 0 })
      }
    })
  })

  it('holds nothing when the service never answers', () => {
    virtually(({ clock, watch, recognizing }) => {
      const service = scriptedService<SocketMessage>(clock, [{}])
      const { log } = watch(recognizing({ dial: service.dial })(NEVER), 100)
      return () => {
        expect(log.at(-1)).toBe('0 starting')
        expect([clock.pending(), service.dials.open]).toEqual([0, 0])
      }
    })
  })
})

const finalizeResponse = JSON.stringify({
  'message-name': 'finalize-recognition-response',
  'operation-result': 'Success',
})

describe('a source whose teardown throws', () => {
  const reported: string[] = []
  beforeEach(() => {
    vi.useFakeTimers()
    reported.length = 0
    config.onUnhandledError = (error) => reported.push(String(error))
  })
  afterEach(() => {
    vi.useRealTimers()
    config.onUnhandledError = null
  })

  const source$ = new Observable<Uint8Array>((subscriber) => {
    subscriber.next(audio(20))
    return () => {
      throw new Error('The microphone is gone.')
    }
  })

  it.each([
    ['finalize$', ['40 finalizing', '50 done', '50 complete']],
    ['stop$', ['50 stopped', '50 complete']],
  ] as const)('does not keep %s from its end, and is reported as RxJS does', (verb, ends) => {
    virtually(({ clock, cold, watch, recognizing }) => {
      const service = scriptedService(clock, [plainRecognizer(10)], { connectMs: 10 })
      const { log } = watch(recognizing({ dial: service.dial, [verb]: cold('40ms f') })(source$))
      return () => {
        expect(log).toEqual(expect.arrayContaining([...ends]))
        expect([log.at(-1), clock.pending(), service.dials.open]).toEqual([ends.at(-1), 0, 0])
      }
    })
    expect(reported).toEqual([])
    vi.runAllTimers()
    expect(reported).toEqual([expect.stringContaining('The microphone is gone.')])
  })
})

describe('a session whose own work throws', () => {
  it('fails with the cause, and releases everything', () => {
    virtually(({ clock, cold, watch, recognizing, expectSubscriptions }) => {
      const service = scriptedService(clock, [plainRecognizer(10)])
      const cause = new Error('No clock.')
      const now = (): number => {
        throw cause
      }
      const source$ = cold('a 49ms |', { a: audio(20) })
      const scheduler = Object.assign(Object.create(clock) as typeof clock, { schedule: now })
      const testing = { dial: service.dial, random: () => 0.5, scheduler }
      const watched = watch(recognizing({ dial: service.dial, testing })(source$))
      expectSubscriptions(source$.subscriptions).toBe([])
      return () => {
        expect(watched.log).toEqual(['0 authorizing', '0 failed', '0 error internal'])
        expect(watched.error?.cause).toBe(cause)
        expect([clock.pending(), service.dials.open]).toEqual([0, 0])
      }
    })
  })
})
