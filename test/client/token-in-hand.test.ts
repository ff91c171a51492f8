import { happeningsOf } from './happenings.js'
import { defer, EMPTY, NEVER, of, throwError, type Observable, type ObservableInput } from 'rxjs'
import { TestScheduler } from 'rxjs/testing'
import { describe, expect, it } from 'vitest'
import { isSpeechError, SpeechError } from '../../src/errors/speech-error.js'
import { pace } from '../../src/operators/audio/pace.js'
import type { SessionEvent } from '../../src/protocol/session-event.js'
import type { Token } from '../../src/protocol/token.js'
import type { TokenInHand } from '../../src/client/token.js'
import { SessionToken } from '../../src/client/token.js'
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
  /** Of the token endpoint after the first request. */
  readonly later?: Answer
}

/** A session in virtual time, whose tokens come from an endpoint as `requestToken` asks it: one request a subscription. */
const run = (over: Transport, { seconds, faults, tokenLifeMs, later }: TokenSetup): Run => {
  const scheduler = new TestScheduler(() => undefined)
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
    ['lives for a year', 31_536_000_000],
    ['ends at no known time', Infinity],
    ['lives for an hour', 3_600_000],
  ])('that %s is requested once, however long the service is away', (_what, tokenLifeMs) => {
    const ended = run(over, { seconds: 120, faults: '10s o 55s | 10s r 5s o 8s |', tokenLifeMs })
    expect(ended.states.filter((state) => state === 'reconnecting').length).toBeGreaterThan(10)
    expect(ended.requests).toEqual([0])
    expect([ended.error, ended.text]).toEqual([undefined, ended.whole])
  })

  it.each([
    ['refuses the secret', wrongSecret],
    ['refuses the form', malformed],
    ['says that there were too many attempts', tooMany],
    ['says nothing', 'silence' as const],
  ])('is used near its end where the endpoint %s', (_what, later) => {
    // The last 5 s are the end of this token: a successor and each attempt after the outage ask for another one.
    const ended = run(over, { seconds: 98, faults: '95500ms o 1s |', tokenLifeMs: 100_000, later })
    expect(ended.requests.length).toBeGreaterThan(2)
    expect([ended.error, ended.text]).toEqual([undefined, ended.whole])
  })

  it('is replaced once it is near its end, and by one request', () => {
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
  /** How often the source was asked. */
  readonly asked: () => number
  readonly taken$: string[]
  readonly scheduler: TestScheduler
  readonly taken: (token$: Observable<TokenInHand>) => string
}

const kept = (source: (asked: number, scheduler: TestScheduler) => ObservableInput<string | Token>): Kept => {
  const scheduler = new TestScheduler(() => undefined)
  scheduler.maxFrames = Infinity
  const taken$: string[] = []
  let asked = 0
  const token$ = defer(() => {
    asked += 1
    return source(asked, scheduler)
  })
  const rejected$ = { next: ({ accessToken }: Pick<Token, 'accessToken'>): void => void taken$.push(accessToken) }
  const tokens = new SessionToken({ token: token$, rejected$, scheduler, deadlines: { authorizing: 20_000 } })
  const taken = (token$: Observable<TokenInHand>): string => {
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

describe('the token in hand', () => {
  it('is given again until it is refused, and then the source is asked once for another', () => {
    const { tokens, asked, taken } = kept((count) => of(`T${count}`))
    expect([taken(tokens.take()), taken(tokens.take()), asked()]).toEqual(['T1', 'T1', 1])
    expect([taken(tokens.renew('T1')), taken(tokens.take()), asked()]).toEqual(['T2', 'T2', 2])
  })

  it('is no longer given once it was refused, also where the source fails to give another', () => {
    const { tokens, asked, taken } = kept((count) => (count === 2 ? throwError(() => tooMany) : of(`T${count}`)))
    expect(taken(tokens.take())).toBe('T1')
    expect(taken(tokens.renew('T1'))).toBe('too-many-attempts')
    // The attempt is repeated, with what was refused before.
    expect([taken(tokens.renew(undefined)), asked()]).toEqual(['T3', 3])
  })

  it('tells its source which token was refused, and says where that has no other', () => {
    const { tokens, taken, taken$ } = kept(() => of('T1'))
    taken(tokens.take())
    expect([taken(tokens.renew('T1')), taken$]).toEqual(['T1, the same', ['T1']])
    expect([taken(tokens.renew(undefined)), taken$]).toEqual(['T1, the same', ['T1', 'T1']])
  })

  it('is not asked for where another one than the refused is in hand', () => {
    const { tokens, asked, taken } = kept((count) => of(tokenOf(`T${count}`)))
    taken(tokens.take())
    taken(tokens.replace())
    expect([taken(tokens.renew('T1')), asked()]).toEqual(['T2', 2])
  })

  it.each([
    ['a minute before its end', 3_600_000, 3_539_999, 3_540_000],
    ['a twentieth of its life before its end', 100_000, 94_999, 95_000],
  ])('is replaced from %s on', (_what, lifeMs, before, from) => {
    const { tokens, asked, taken, scheduler } = kept((count, { now }) => of(tokenOf(`T${count}`, now() + lifeMs)))
    expect(taken(tokens.take())).toBe('T1')
    scheduler.frame = before
    expect([taken(tokens.take()), asked()]).toEqual(['T1', 1])
    scheduler.frame = from
    expect([taken(tokens.take()), asked()]).toEqual(['T2', 2])
  })

  it.each([
    ['fails for good', throwError(() => wrongSecret)],
    ['fails for now', throwError(() => tooMany)],
    ['fails with an error of its own', throwError(() => new Error('x'))],
    ['is empty', EMPTY],
    ['says nothing', NEVER],
  ])('is given to its end, and no longer, where the source %s', (_what, answer) => {
    const { tokens, asked, taken, scheduler } = kept((count) => (count === 1 ? of(tokenOf('T1', 200_000)) : answer))
    expect(taken(tokens.take())).toBe('T1')
    scheduler.frame = 191_000
    expect([taken(tokens.take()), asked()]).toEqual(['T1', 2])
    // A source that says nothing has had half of what was left.
    expect(scheduler.frame).toBe(answer === NEVER ? 195_500 : 191_000)
    scheduler.frame = 200_000
    expect(taken(tokens.take())).not.toBe('T1')
  })
})
