import { happeningsOf } from './happenings.js'
import { defer, EMPTY, NEVER, of, throwError, type Observable, type ObservableInput } from 'rxjs'
import { LongTestScheduler } from '../long-test-scheduler.js'
import { describe, expect, it } from 'vitest'
import { isSpeechError, SpeechError } from '../../src/errors/speech-error.js'
import { pace } from '../../src/operators/audio/pace.js'
import type { SessionEvent } from '../../src/protocol/session-event.js'
import type { Token } from '../../src/protocol/token.js'
import { SessionToken, type CurrentToken } from '../../src/client/token.js'
import { dataflow } from '../../src/client/dataflow/dataflow.js'
import { recognize } from '../../src/client/recognizer/recognize.js'
import { faultMarbles } from '../../src/testing/faults/fault-marbles.js'
import { linkFaults } from '../../src/testing/faults/link-faults.js'
import { verifyingService } from '../../src/testing/verifying/verifying-service.js'
import { format, sourceOf, transports, type Transport } from '../faults/proved-session.js'

type Answer = SpeechError | 'silence'

const wrongSecret = new SpeechError('invalid-client', 'Wrong.')
const malformed = new SpeechError('invalid-request', 'Malformed.')
const tooMany = new SpeechError('too-many-attempts', 'Too many.', { retryAfterMs: 30_000 })

interface Run {
  readonly text: string
  readonly whole: string
  readonly states: readonly string[]
  /** When tokens were requested. */
  readonly requests: readonly number[]
  readonly error: unknown
}

interface TokenSetup {
  readonly seconds: number
  readonly faults: string
  readonly tokenLifeMs: number
  /** The response of the token endpoint after the first request. */
  readonly later?: Answer
}

/**
 * A session in virtual time with tokens of an endpoint like those of `requestToken`: one request for each subscription.
 */
const run = (over: Transport, { seconds, faults, tokenLifeMs, later }: TokenSetup): Run => {
  const scheduler = new LongTestScheduler(() => undefined)
  const service = verifyingService({ wordMs: 250 })
  const events: SessionEvent[] = []
  const requests: number[] = []
  let error: unknown
  const token$ = defer((): Observable<Token> => {
    const nowMs = scheduler.now()
    requests.push(nowMs)
    const token = {
      accessToken: `token-${requests.length}`,
      tokenType: 'Bearer',
      expiresAtMs: nowMs + tokenLifeMs,
    } as const
    if (requests.length === 1 || later === undefined) return of(token)
    return later === 'silence' ? NEVER : throwError(() => later)
  })
  scheduler.run(() => {
    const faulty = linkFaults({ scheduler, script: faultMarbles(faults) })
    const audio$ = pace({ format, scheduler })(sourceOf(seconds * 1_000, 100))
    const common = { format, token: token$ }
    const { dials } = service
    const testing = { scheduler, random: () => 0.5 }
    const session$ =
      over === 'grpc'
        ? dataflow(service.dataflow({ ...common, testing: { ...testing, dial: faulty.wrap(dials.dataflow) } }))(audio$)
        : recognize(service.recognizer({ ...common, testing: { ...testing, dial: faulty.wrap(dials.recognizer) } }))(
            audio$,
          )
    session$.subscribe({ next: (event) => events.push(event), error: (item: unknown) => (error = item) })
  })
  const states = events.flatMap((event) => happeningsOf(event))
  return {
    text: events.map((event) => (event.type === 'milestone' ? event.text : '')).join(''),
    whole: service.transcript({ sampleCount: seconds * 8_000, sampleRateHz: 8_000 }),
    states,
    requests,
    error,
  }
}

describe.each(transports)('the token of a session over %s', (over) => {
  it.each([
    ['is valid for a year', 31_536_000_000],
    ['has no known end', Infinity],
    ['is valid for an hour', 3_600_000],
  ])('that %s is requested once, however long the service is unavailable', (_what, tokenLifeMs) => {
    const ended = run(over, { seconds: 120, faults: '10s o 55s | 10s r 5s o 8s |', tokenLifeMs })
    expect(ended.states.filter((state) => state === 'reconnecting').length).toBeGreaterThan(10)
    expect(ended.requests).toEqual([0])
    expect([ended.error, ended.text]).toEqual([undefined, ended.whole])
  })

  it.each([
    ['refuses the secret', wrongSecret],
    ['refuses the form', malformed],
    ['reports too many attempts', tooMany],
    ['does not answer', 'silence' as const],
  ])('is used near its end if the endpoint %s', (_what, later) => {
    // The last 5 s are the end of this token: a successor and each attempt after the outage request another one.
    const ended = run(over, { seconds: 98, faults: '95500ms o 1s |', tokenLifeMs: 100_000, later })
    expect(ended.requests.length).toBeGreaterThan(2)
    expect([ended.error, ended.text]).toEqual([undefined, ended.whole])
  })

  it('is replaced once it is near its end, with one request', () => {
    const ended = run(over, { seconds: 180, faults: '59s o 5s |', tokenLifeMs: 61_000 })
    const [first, second, third] = ended.requests
    expect(first).toBe(0)
    // A successor with another token takes over 3 s before the end.
    expect(second).toBeGreaterThan(57_000)
    expect(second).toBeLessThan(58_000)
    expect(third).toBeGreaterThan(114_000)
    expect(ended.requests.length).toBeLessThan(5)
    expect([ended.error, ended.text]).toEqual([undefined, ended.whole])
  })
})

const tokenOf = (accessToken: string, expiresAtMs = Infinity): Token => ({
  accessToken,
  tokenType: 'Bearer',
  expiresAtMs,
})

interface Kept {
  readonly tokens: SessionToken
  /** Number of requests to the source. */
  readonly asked: () => number
  readonly taken$: string[]
  readonly scheduler: LongTestScheduler
  readonly taken: (token$: Observable<CurrentToken>) => string
}

const kept = (source: (asked: number, scheduler: LongTestScheduler) => ObservableInput<string | Token>): Kept => {
  const scheduler = new LongTestScheduler(() => undefined)
  scheduler.maxFrames = Infinity
  const taken$: string[] = []
  let asked = 0
  const token$ = defer(() => {
    asked += 1
    return source(asked, scheduler)
  })
  const rejected$ = { next: ({ accessToken }: Pick<Token, 'accessToken'>): void => void taken$.push(accessToken) }
  const tokens = new SessionToken({ token: token$, rejected$, scheduler, deadlines: { authorizing: 20_000 } })
  const taken = (token$: Observable<CurrentToken>): string => {
    let result = 'nothing'
    token$.subscribe({
      next: ({ accessToken, fresh }) => (result = fresh ? accessToken : `${accessToken}, the same`),
      error: (error: unknown) => (result = isSpeechError(error) ? error.code : 'another error'),
    })
    scheduler.flush()
    return result
  }
  return { tokens, asked: () => asked, taken$, scheduler, taken }
}

describe('the current token', () => {
  it('is returned again until it is refused, and then the source is asked once for another', () => {
    const { tokens, asked, taken } = kept((count) => of(`T${count}`))
    expect([taken(tokens.take()), taken(tokens.take()), asked()]).toEqual(['T1', 'T1', 1])
    expect([taken(tokens.renew('T1')), taken(tokens.take()), asked()]).toEqual(['T2', 'T2', 2])
  })

  it('is no longer returned once it was refused, also if the source fails to emit another', () => {
    const { tokens, asked, taken } = kept((count) => (count === 2 ? throwError(() => tooMany) : of(`T${count}`)))
    expect(taken(tokens.take())).toBe('T1')
    expect(taken(tokens.renew('T1'))).toBe('too-many-attempts')
    // The attempt is repeated, with the token that was refused before.
    expect([taken(tokens.renew(undefined)), asked()]).toEqual(['T3', 3])
  })

  it('reports to its source which token was refused, and reports when the source has no other', () => {
    const { tokens, taken, taken$ } = kept(() => of('T1'))
    taken(tokens.take())
    expect([taken(tokens.renew('T1')), taken$]).toEqual(['T1, the same', ['T1']])
    expect([taken(tokens.renew(undefined)), taken$]).toEqual(['T1, the same', ['T1', 'T1']])
  })

  it('is not requested if a token other than the refused one is available', () => {
    const { tokens, asked, taken } = kept((count) => of(tokenOf(`T${count}`)))
    taken(tokens.take())
    taken(tokens.replace())
    expect([taken(tokens.renew('T1')), asked()]).toEqual(['T2', 2])
  })

  it.each([
    ['a minute before its end', 3_600_000, 3_539_999, 3_540_000],
    ['a twentieth of its lifetime before its end', 100_000, 94_999, 95_000],
  ])('is replaced from %s on', (_what, lifeMs, before, from) => {
    const { tokens, asked, taken, scheduler } = kept((count, { now }) => of(tokenOf(`T${count}`, now() + lifeMs)))
    expect(taken(tokens.take())).toBe('T1')
    scheduler.frame = before
    expect([taken(tokens.take()), asked()]).toEqual(['T1', 1])
    scheduler.frame = from
    expect([taken(tokens.take()), asked()]).toEqual(['T2', 2])
  })

  it.each([
    ['fails permanently', throwError(() => wrongSecret)],
    ['fails temporarily', throwError(() => tooMany)],
    ['fails with a foreign error', throwError(() => new Error('x'))],
    ['is empty', EMPTY],
    ['does not answer', NEVER],
  ])('is returned until its end, and no longer, if the source %s', (_what, answer) => {
    const { tokens, asked, taken, scheduler } = kept((count) => (count === 1 ? of(tokenOf('T1', 200_000)) : answer))
    expect(taken(tokens.take())).toBe('T1')
    scheduler.frame = 191_000
    expect([taken(tokens.take()), asked()]).toEqual(['T1', 2])
    // A source that does not answer has had half of the remaining time.
    expect(scheduler.frame).toBe(answer === NEVER ? 195_500 : 191_000)
    scheduler.frame = 200_000
    expect(taken(tokens.take())).not.toBe('T1')
  })
})
