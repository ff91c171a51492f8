import { config, NEVER, of, range, map, Subject, take, tap, takeWhile } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { SessionEvent } from '../../src/protocol/session-event.js'
import { audio, labelOf, plainRecognizer, scriptedService, virtually } from './virtual-session.js'

const named = ['authorizing', 'connecting', 'starting', 'streaming', 'finalizing'] as const

describe('a handler that acts during an event', () => {
  it.each(named)('unsubscribes at %s, and nothing is left open', (state) => {
    virtually(({ clock, watch, recognizing, cold }) => {
      const service = scriptedService(clock, [plainRecognizer(0)])
      const source$ = cold('a 9ms |', { a: audio(20) })
      const session$ = recognizing({ dial: service.dial })(source$).pipe(
        takeWhile((event) => labelOf(event) !== state, true),
      )
      const { log } = watch(session$)
      clock.schedule(() => {
        expect([clock.pending(), service.dials.open]).toEqual([0, 0])
        expect(source$.subscriptions.every(({ unsubscribedFrame }) => unsubscribedFrame <= 10)).toBe(true)
      }, 11)
      return () => expect(log.at(-2)).toContain(state)
    })
  })

  it.each(named)('stops at %s', (state) => {
    virtually(({ clock, watch, recognizing, cold }) => {
      const service = scriptedService(clock, [plainRecognizer(0)])
      const stop$ = new Subject<undefined>()
      const source$ = cold('5ms a 4ms |', { a: audio(20) })
      const stopAt = (event: SessionEvent): void => {
        if (labelOf(event) === state) stop$.next(undefined)
      }
      const { log } = watch(recognizing({ dial: service.dial, stop$ })(source$).pipe(tap(stopAt)))
      return () => {
        expect(log.slice(-2).map((entry) => entry.replace(/^\d+ /, ''))).toEqual(['stopped', 'complete'])
        expect([clock.pending(), service.dials.open, stop$.observed]).toEqual([0, 0, false])
      }
    })
  })

  it.each(named)('finalizes at %s', (state) => {
    virtually(({ clock, watch, recognizing, cold }) => {
      const service = scriptedService(clock, [plainRecognizer(0)])
      const finalize$ = new Subject<undefined>()
      const source$ = cold('5ms a 4ms |', { a: audio(20) })
      const finalizeAt = (event: SessionEvent): void => {
        if (labelOf(event) === state) finalize$.next(undefined)
      }
      const { log } = watch(recognizing({ dial: service.dial, finalize$ })(source$).pipe(tap(finalizeAt)))
      return () => {
        expect(log.filter((entry) => entry.includes('finalizing'))).toHaveLength(1)
        expect(service.received.filter((message) => message.includes('finalize'))).toHaveLength(1)
        expect(log.slice(-2).map((entry) => entry.replace(/^\d+ /, ''))).toEqual(['done', 'complete'])
      }
    })
  })

  it('leaves no timer when it finalizes and unsubscribes together', () => {
    virtually(({ clock, watch, recognizing }) => {
      const service = scriptedService(clock, [plainRecognizer(0)])
      const finalize$ = new Subject<undefined>()
      const finalizeAt = (event: SessionEvent): void => {
        if (labelOf(event) === 'streaming') finalize$.next(undefined)
      }
      watch(
        recognizing({ dial: service.dial, finalize$ })(NEVER).pipe(
          tap(finalizeAt),
          takeWhile((event) => labelOf(event) !== 'streaming'),
        ),
      )
      expect([clock.pending(), service.dials.open]).toEqual([0, 0])
      return () => undefined
    })
  })

  it('ends an endless synchronous source', () => {
    virtually(({ clock, watch, recognizing }) => {
      const service = scriptedService(clock, [
        { ...plainRecognizer(0), audio: [0, '{"message-name":"partial-result","text":"x"}'] },
      ])
      let given = 0
      const endless$ = range(0, 1_000_000).pipe(
        tap(() => (given += 1)),
        map(() => audio(1)),
      )
      watch(recognizing({ dial: service.dial })(endless$).pipe(takeWhile(({ type }) => type !== 'partial')))
      return () => expect([given, clock.pending(), service.dials.open]).toEqual([1, 0, 0])
    })
  })

  it('handles signals that emit when they are subscribed', () => {
    virtually(({ clock, watch, recognizing, cold }) => {
      const service = scriptedService(clock, [plainRecognizer(0)])
      const source$ = cold('a', { a: audio(20) })
      const stopped = watch(recognizing({ dial: service.dial, stop$: of(1) })(source$))
      const finalized = watch(recognizing({ dial: service.dial, finalize$: of(1) })(source$))
      return () => {
        expect(source$.subscriptions).toEqual([])
        expect(stopped.log).toEqual(['0 stopped', '0 complete'])
        expect(finalized.log.slice(-2)).toEqual(['0 done', '0 complete'])
      }
    })
  })

  it('survives a consumer that throws, until the end of the session', () => {
    const thrown: unknown[] = []
    const before = config.onUnhandledError
    config.onUnhandledError = (error) => thrown.push(error)
    try {
      virtually(({ clock, recognizing, cold }) => {
        const service = scriptedService(clock, [plainRecognizer(0)])
        let completed = false
        recognizing({ dial: service.dial })(cold('5ms a 4ms |', { a: audio(20) })).subscribe({
          next: ({ type }) => {
            throw new Error(type)
          },
          complete: () => (completed = true),
        })
        return () => expect([completed, clock.pending(), service.dials.open]).toEqual([true, 0, 0])
      })
    } finally {
      config.onUnhandledError = before
    }
  })

  it('releases everything when a downstream operator throws', () => {
    virtually(({ clock, watch, recognizing }) => {
      const service = scriptedService(clock, [plainRecognizer(0)])
      let error: unknown
      recognizing({ dial: service.dial })(NEVER)
        .pipe(
          map((event) => {
            if (event.type === 'response') throw new Error('mine')
            return event
          }),
        )
        .subscribe({ error: (item: unknown) => (error = item) })
      watch(NEVER.pipe(take(0)))
      expect([clock.pending(), service.dials.open]).toEqual([0, 0])
      return () => expect(error).toEqual(new Error('mine'))
    })
  })
})

describe('an input of the user that fails', () => {
  it('is source-failed for the source and the signals, with the preceding events', () => {
    virtually(({ clock, watch, recognizing, cold }) => {
      const service = scriptedService(clock, [plainRecognizer(0)])
      const failing = [
        watch(recognizing({ dial: service.dial })(cold('5ms a #', { a: audio(20) }))),
        watch(recognizing({ dial: service.dial, stop$: cold('6ms #') })(NEVER)),
        watch(recognizing({ dial: service.dial, finalize$: cold('6ms #') })(NEVER)),
      ]
      return () => {
        for (const { log, error } of failing) {
          expect(log.slice(-2)).toEqual(['6 failed', '6 error source-failed'])
          expect(error?.cause).toBe('error')
        }
        expect([clock.pending(), service.dials.open]).toEqual([0, 0])
      }
    })
  })

  it('is named for a dial that throws, or fails with a foreign error', () => {
    virtually(({ clock, watch, recognizing, cold }) => {
      const throwing = watch(
        recognizing({
          dial: () => {
            throw new Error('no')
          },
        })(NEVER),
      )
      const failing = watch(recognizing({ dial: () => cold<never>('5ms #') })(NEVER))
      return () => {
        expect(throwing.log.at(-1)).toBe('0 error connection-failed')
        expect(failing.log.at(-1)).toBe('5 error connection-failed')
        expect(clock.pending()).toBe(0)
      }
    })
  })
})
