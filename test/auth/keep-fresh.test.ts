import { concat, defer, map, merge, NEVER, of, Subject, take, timer, type Observable } from 'rxjs'
import type { TestScheduler } from 'rxjs/testing'
import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../src/errors/speech-error.js'
import { keepFresh } from '../../src/auth/keep-fresh.js'
import type { Token } from '../../src/protocol/token.js'
import { codeThrownBy, marbles } from '../operators/marbles.js'

/** Responses, one for each request: the delay, and the lifetime of the token from the response on, or the error. */
type Script = readonly (readonly [afterMs: number, answer: number | Error])[]

/** A scripted token endpoint; tokens are named t1, t2 … in the order of requests. The last response repeats. */
const endpoint = (script: Script, scheduler: TestScheduler): { token$: Observable<Token>; requestedAt: number[] } => {
  const requestedAt: number[] = []
  const token$ = defer(() => {
    requestedAt.push(scheduler.now())
    const [afterMs, answer] = script[Math.min(requestedAt.length, script.length) - 1] ?? [0, new Error('no script')]
    const name = `t${requestedAt.length}`
    return timer(afterMs, scheduler).pipe(
      map((): Token => {
        if (answer instanceof Error) throw answer
        return { accessToken: name, tokenType: 'Bearer', expiresAtMs: scheduler.now() + answer }
      }),
    )
  })
  return { token$, requestedAt }
}

const name = ({ accessToken }: Token): string => accessToken
const names = { 1: 't1', 2: 't2', 3: 't3', 4: 't4' }
const dayMs = 24 * 60 * 60 * 1000

const outage = new SpeechError('token-endpoint-failed', 'down')
const refusal = new SpeechError('invalid-client', 'wrong secret')

describe('keepFresh', () => {
  it('emits the token, and the next before it expires', () => {
    marbles(({ scheduler, cold, expectObservable, expectSubscriptions }) => {
      // Each subscription requests one token; a token lasts 100 ms, so it is renewed 10 ms before its end.
      const source$ = cold('   --(a|)').pipe(
        map((): Token => ({ accessToken: 't', tokenType: 'Bearer', expiresAtMs: scheduler.now() + 100 })),
      )
      const inner$ = cold('    --(a|)')
      const watched$ = inner$.pipe(
        map((): Token => ({ accessToken: 't', tokenType: 'Bearer', expiresAtMs: scheduler.now() + 100 })),
      )
      const unsubscribe = '    ^ 199ms !'
      const expected = '       --a 91ms a 91ms a'
      const subscriptions = ['^-!', '92ms ^-!', '184ms ^-!']
      expectObservable(watched$.pipe(keepFresh({ scheduler }), map(name)), unsubscribe).toBe(expected, { a: 't' })
      expectSubscriptions(inner$.subscriptions).toBe(subscriptions)
      expectObservable(source$.pipe(keepFresh({ scheduler }), take(1), map(name))).toBe('--(a|)', { a: 't' })
    })
  })

  it.each([
    ['365 days', 365 * dayMs, 364 * dayMs],
    ['one hour', 3_600_000, 3_240_000],
    ['30 s', 30_000, 27_000],
    ['one second', 1000, 900],
  ])('renews a token of %s in time and not before', (_, lifeMs, renewedAfterMs) => {
    marbles(({ scheduler, expectObservable }) => {
      const { token$ } = endpoint([[0, lifeMs]], scheduler)
      const result$ = token$.pipe(keepFresh({ scheduler }), take(2), map(name))
      expectObservable(result$).toBe(`1 ${renewedAfterMs - 1}ms (2|)`, names)
    })
  })

  it('uses at most half the lifetime for the renewal, so that renewals do not overlap', () => {
    marbles(({ scheduler, expectObservable }) => {
      const { token$ } = endpoint([[0, 100]], scheduler)
      expectObservable(token$.pipe(keepFresh({ scheduler, renewBeforeMs: 500 }), take(3), map(name))).toBe(
        '1 49ms 2 49ms (3|)',
        names,
      )
    })
  })

  it('never renews a token that never expires', () => {
    marbles(({ scheduler, expectObservable }) => {
      const { token$ } = endpoint([[0, Infinity]], scheduler)
      expectObservable(token$.pipe(keepFresh({ scheduler }), map(name))).toBe('1', names)
    })
  })

  it('makes one request for any number of concurrent sessions', () => {
    marbles(({ scheduler, expectObservable, flush }) => {
      const { token$, requestedAt } = endpoint([[5, 1000]], scheduler)
      const shared$ = token$.pipe(keepFresh({ scheduler }))
      const attempt$ = shared$.pipe(take(1), map(name))
      expectObservable(merge(attempt$, attempt$, attempt$)).toBe('-----(111|)', names)
      expectObservable(timer(3).pipe(() => attempt$)).toBe('-----(1|)', names)
      flush()
      expect(requestedAt).toEqual([0])
    })
  })

  it('keeps the token for consecutive sessions, without a timer between them', () => {
    marbles(({ scheduler, expectObservable, flush }) => {
      const { token$, requestedAt } = endpoint([[5, 1000]], scheduler)
      const attempt$ = token$.pipe(keepFresh({ scheduler }), take(1), map(name))
      const inTurn$ = concat(
        attempt$,
        timer(990).pipe(map(() => 'wait')),
        attempt$,
        timer(50).pipe(map(() => 'wait')),
        attempt$,
      )
      // The third subscription starts after the token has expired unnoticed.
      expectObservable(inTurn$).toBe('5ms 1 989ms (w1) 46ms w 4ms (2|)', { ...names, w: 'wait' })
      flush()
      expect(requestedAt).toEqual([0, 1045])
    })
  })

  it('renews immediately for a subscription during the renewal window, and emits the old token meanwhile', () => {
    marbles(({ scheduler, cold, expectObservable }) => {
      const { token$ } = endpoint([[0, 100]], scheduler)
      const shared$ = token$.pipe(keepFresh({ scheduler }), map(name))
      expectObservable(shared$.pipe(take(1))).toBe('(1|)', names)
      expectObservable(cold('95ms a').pipe(take(1), () => defer(() => timer(95).pipe(take(1))))).toBe('95ms (a|)', {
        a: 0,
      })
      expectObservable(shared$, '95ms ^ 50ms !').toBe('95ms (12)', names)
    })
  })

  it('keeps the old token while renewals fail, with increasing delays, and emits the first that succeeds', () => {
    marbles(({ scheduler, expectObservable, flush }) => {
      const { token$, requestedAt } = endpoint(
        [
          [0, 100_000],
          [0, outage],
          [0, new Error('odd')],
          [0, outage],
          [0, 100_000],
        ],
        scheduler,
      )
      const result$ = token$.pipe(keepFresh({ scheduler, maxRetryMs: 3000 }), take(2))
      expectObservable(result$.pipe(map(name))).toBe('1 95999ms (5|)', { 1: 't1', 5: 't5' })
      flush()
      expect(requestedAt).toEqual([0, 90_000, 91_000, 93_000, 96_000])
    })
  })

  it('waits as long as the endpoint requires', () => {
    marbles(({ scheduler, expectObservable, flush }) => {
      const busy = new SpeechError('too-many-attempts', 'busy', { retryAfterMs: 7000 })
      const { token$, requestedAt } = endpoint(
        [
          [0, 100_000],
          [0, busy],
          [0, 100_000],
        ],
        scheduler,
      )
      expectObservable(token$.pipe(keepFresh({ scheduler }), take(2), map(name))).toBe('1 96999ms (3|)', names)
      flush()
      expect(requestedAt).toEqual([0, 90_000, 97_000])
    })
  })

  it('errors with the last failure when the token expires unrenewed', () => {
    marbles(({ scheduler, expectObservable }) => {
      const { token$ } = endpoint(
        [
          [0, 100_000],
          [0, outage],
        ],
        scheduler,
      )
      expectObservable(token$.pipe(keepFresh({ scheduler }), map(name))).toBe('1 99999ms #', names, outage)
    })
  })

  it('sends no more requests after an error that is not retryable, and errors with it at expiry', () => {
    marbles(({ scheduler, expectObservable, flush }) => {
      const { token$, requestedAt } = endpoint(
        [
          [0, 100_000],
          [0, refusal],
        ],
        scheduler,
      )
      expectObservable(token$.pipe(keepFresh({ scheduler }), map(name))).toBe('1 99999ms #', names, refusal)
      flush()
      expect(requestedAt).toEqual([0, 90_000])
    })
  })

  it('errors with token-timeout when the token expires while its renewal hangs', () => {
    marbles(({ scheduler, expectObservable }) => {
      const { token$ } = endpoint(
        [
          [0, 100],
          [500, 100],
        ],
        scheduler,
      )
      const late = new SpeechError('token-timeout', 'The token expired before its renewal was answered.')
      expectObservable(token$.pipe(keepFresh({ scheduler }), map(name))).toBe('1 99ms #', names, late)
    })
  })

  it('passes a failure of the first request on immediately, and requests again for the next subscriber', () => {
    marbles(({ scheduler, expectObservable }) => {
      const { token$ } = endpoint(
        [
          [5, outage],
          [5, 1000],
        ],
        scheduler,
      )
      const shared$ = token$.pipe(keepFresh({ scheduler }), map(name))
      expectObservable(shared$).toBe('     5ms #', names, outage)
      expectObservable(shared$, '10ms ^ 20ms !').toBe('15ms 2', names)
    })
  })

  it('drops a rejected token, requests another immediately, and counts repeated rejections of it as one', () => {
    marbles(({ scheduler, hot, expectObservable, expectSubscriptions, flush }) => {
      const rejected$ = hot('  ---x-x--x---y', { x: { accessToken: 't1' }, y: { accessToken: 'unknown' } })
      const subscription = '   ^------------------!'
      const expected = '       1------2'
      const { token$, requestedAt } = endpoint(
        [
          [0, 1000],
          [4, 1000],
        ],
        scheduler,
      )
      const shared$ = token$.pipe(keepFresh({ scheduler, rejected$ }), map(name))
      expectObservable(shared$, subscription).toBe(expected, names)
      // A subscription during a pending request waits for it.
      expectObservable(shared$.pipe(take(1)), '----^').toBe('-------(2|)', names)
      expectSubscriptions(rejected$.subscriptions).toBe(subscription)
      flush()
      expect(requestedAt).toEqual([0, 3])
    })
  })

  it('handles a rejection while the token is being emitted', () => {
    marbles(({ scheduler, flush }) => {
      const rejected$ = new Subject<Token>()
      const { token$ } = endpoint([[1, 1000]], scheduler)
      const seen: string[] = []
      token$.pipe(keepFresh({ scheduler, rejected$ }), take(2)).subscribe((token) => {
        seen.push(`${token.accessToken} at ${scheduler.now()}`)
        if (seen.length === 1) rejected$.next(token)
      })
      flush()
      expect(seen).toEqual(['t1 at 1', 't2 at 2'])
    })
  })

  it('requests once for a rejection when the endpoint issues the same token again', () => {
    marbles(({ scheduler, hot, expectObservable, flush }) => {
      let requests = 0
      const same$ = defer(() => {
        requests += 1
        return of<Token>({ accessToken: 'same', tokenType: 'Bearer', expiresAtMs: 1000 })
      })
      const rejected$ = hot('--x', { x: { accessToken: 'same' } })
      expectObservable(same$.pipe(keepFresh({ scheduler, rejected$ }), map(name)), '^---!').toBe('s-s', { s: 'same' })
      flush()
      expect(requests).toBe(2)
    })
  })

  it('passes a failure on immediately when a rejected token leaves none', () => {
    marbles(({ scheduler, hot, expectObservable }) => {
      const rejected$ = hot('  ---x', { x: { accessToken: 't1' } })
      const expected = '       1---#'
      const { token$ } = endpoint(
        [
          [0, 1000],
          [1, outage],
        ],
        scheduler,
      )
      expectObservable(token$.pipe(keepFresh({ scheduler, rejected$ }), map(name))).toBe(expected, names, outage)
    })
  })

  it('errors when the source completes without a token', () => {
    marbles(({ scheduler, cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold<Token>('---|')
      const subscription = '       ^--!'
      const expected = '           ---#'
      const error = new SpeechError('token-endpoint-failed', 'The source of tokens completed without a token.')
      expectObservable(source$.pipe(keepFresh({ scheduler }))).toBe(expected, undefined, error)
      expectSubscriptions(source$.subscriptions).toBe(subscription)
    })
  })

  it.each([0, -1, NaN])('errors when a token has a lifetime of %s ms', (lifeMs) => {
    marbles(({ scheduler, expectObservable }) => {
      const { token$ } = endpoint([[1, lifeMs]], scheduler)
      const error = new SpeechError(
        'token-endpoint-failed',
        'The token had already expired when it arrived; check the clocks.',
      )
      expectObservable(token$.pipe(keepFresh({ scheduler }))).toBe('-#', undefined, error)
    })
  })

  it('waits while the source emits nothing, and aborts the request when the last subscriber unsubscribes', () => {
    marbles(({ scheduler, cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold<Token>('-       ')
      const first = '              ^-!     '
      const second = '             -^---!  '
      const subscription = '       ^----!  '
      const shared$ = source$.pipe(keepFresh({ scheduler }))
      expectObservable(shared$, first).toBe('-')
      expectObservable(shared$, second).toBe('-')
      expectSubscriptions(source$.subscriptions).toBe(subscription)
    })
  })

  it('emits no token that expired while timers were suspended', () => {
    const clock = { nowMs: 0 }
    const asleep = { now: () => clock.nowMs, schedule: () => NEVER.subscribe() }
    let requests = 0
    const token$ = defer(() => {
      requests += 1
      return of<Token>({ accessToken: `t${requests}`, tokenType: 'Bearer', expiresAtMs: clock.nowMs + 100 })
    })
    const shared$ = token$.pipe(keepFresh({ scheduler: asleep }))
    const seen: string[] = []
    const lasting = shared$.subscribe((token) => seen.push(token.accessToken))
    clock.nowMs = 200
    shared$.pipe(take(1)).subscribe((token) => seen.push(token.accessToken))
    lasting.unsubscribe()
    expect(seen).toEqual(['t1', 't2', 't2'])
  })

  it.each([{ renewBeforeMs: -1 }, { renewBeforeMs: NaN }, { firstRetryMs: 0 }, { maxRetryMs: Infinity }])(
    'rejects %o immediately',
    (wrong) => {
      expect(codeThrownBy(() => keepFresh(wrong))).toBe('invalid-options')
    },
  )
})
