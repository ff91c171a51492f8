import { map, NEVER, of, Subject, Subscription, take, throwError, concat } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../src/errors/speech-error.js'
import { sessionState, type SessionStatus } from '../../src/operators/session-state.js'
import type { GapCause, ReconnectingEvent, SessionEvent } from '../../src/protocol/session-event.js'
import type { AnnouncedState } from '../../src/protocol/states.js'
import { codeThrownBy, marbles } from './marbles.js'
import { gap, partial } from './session-events.js'

const state = (name: AnnouncedState, channel?: number): SessionEvent => ({
  type: 'connection',
  state: name,
  ...(channel !== undefined && { channel }),
})
const reconnecting = (attempt: number, channel?: number): ReconnectingEvent => ({
  ...{ type: 'connection', state: 'reconnecting', attempt, delayMs: 500, bufferedMs: 800, cause: 'connection-lost' },
  ...(channel !== undefined && { channel }),
})
const lost = (ms: number, cause: GapCause): SessionEvent => gap(0, ms, { cause })
const broken = new SpeechError('connection-lost', 'The connection broke.')

/** `live`, `ended stopped`, `reconnecting 1 since 3`; with `-2000` behind it if audio was lost. */
const name = (status: SessionStatus): string =>
  [
    status.type,
    ...(status.type === 'ended' ? [status.outcome, ...(status.error ? [status.error.code] : [])] : []),
    ...(status.type === 'reconnecting' ? [status.attempt, 'since', status.sinceMs] : []),
    ...(status.lostMs > 0 ? [-status.lostMs] : []),
  ].join(' ')

const statesOf = (events: readonly SessionEvent[], end = concat<SessionEvent[]>()): string[] => {
  const seen: string[] = []
  marbles(({ scheduler, flush }) => {
    concat(of(...events), end)
      .pipe(sessionState({ scheduler }), map(name))
      .subscribe((one) => seen.push(one))
    flush()
  })
  return seen
}

describe('sessionState', () => {
  const values = {
    a: state('authorizing'),
    c: state('connecting'),
    s: state('streaming'),
    p: partial('one'),
    r: reconnecting(1),
    t: reconnecting(2),
    g: lost(2000, 'replay-full'),
    f: state('finalizing'),
    d: state('done'),
    x: state('failed'),
  }
  const outputs = {
    i: 'idle',
    c: 'connecting',
    l: 'live',
    r: 'reconnecting 1 since 7',
    t: 'reconnecting 2 since 7',
    g: 'reconnecting 2 since 7 -2000',
    m: 'live -2000',
    f: 'finishing -2000',
    d: 'ended done -2000',
    e: 'ended done',
    x: 'ended failed connection-lost',
  }
  const becomes = (source: string, subscription: string, expected: string, error: unknown = broken): void =>
    marbles(({ cold, expectObservable, expectSubscriptions, scheduler }) => {
      const source$ = cold<SessionEvent>(source.trim(), values, error)
      expectObservable(source$.pipe(sessionState({ scheduler }), map(name))).toBe(expected.trim(), outputs)
      expectSubscriptions(source$.subscriptions).toBe(subscription.trim())
    })

  it('emits each state once, from idle to its end', () => {
    becomes('-a-c-s-r-tgs-p-f-d-|', '^------------------!', 'ic---l-r-tgm---f-d-|')
  })
  it('is idle while nothing happens, and ended when the source completes without a word', () => {
    becomes('-', '^', 'i')
    becomes('--|', '^-!', 'i-(e|)')
  })
  it('ends with the error, and completes', () => {
    becomes('-s-x#', '^---!', 'il--(x|)')
  })
  it('unsubscribes early, and starts again as idle', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold<SessionEvent>('-c-s-d|', values)
      const result$ = source$.pipe(sessionState(), map(name))
      expectObservable(result$, '^-!').toBe('ic', outputs)
      expectObservable(result$, '----^').toBe('----ic-l-e|', outputs)
      expectSubscriptions(source$.subscriptions).toBe(['^-!', '----^-----!'])
    })
  })

  it('has what the last loss of the connection was', () => {
    const seen: SessionStatus[] = []
    concat(of(reconnecting(3)), NEVER)
      .pipe(sessionState({ scheduler: { now: () => 1234, schedule: () => Subscription.EMPTY } }))
      .subscribe((one) => seen.push(one))
      .unsubscribe()
    expect(seen[1]).toEqual({
      ...{ type: 'reconnecting', sinceMs: 1234, attempt: 3, cause: 'connection-lost', bufferedMs: 800, lostMs: 0 },
    })
  })

  it.each<[string, SessionEvent[], string[]]>([
    [
      'reconnects until no channel does',
      [state('streaming'), reconnecting(1, 0), reconnecting(1, 1), state('streaming', 0), state('streaming', 1)],
      ['live', 'reconnecting 1 since 0', 'reconnecting 1 since 0', 'live'],
    ],
    [
      'is that of all channels again when the session has one',
      [state('streaming'), reconnecting(1, 0), state('finalizing')],
      ['live', 'reconnecting 1 since 0', 'finishing'],
    ],
    [
      'is that of the channel that is least far',
      [state('streaming', 0), state('starting', 1), state('streaming', 1), state('finalizing', 0)],
      ['live', 'connecting', 'live'],
    ],
    [
      'is live when both are, each with its own service',
      [state('starting'), state('streaming', 0), state('streaming', 1)],
      ['connecting', 'live'],
    ],
    [
      'is live as long as one of several sessions is',
      [state('streaming', 0), state('streaming', 1), state('done', 0), state('finalizing', 1), state('done', 1)],
      ['live', 'finishing', 'ended done'],
    ],
  ])('of several channels %s', (_, events, expected) => {
    expect(statesOf(events, NEVER)).toEqual(['idle', ...expected])
  })

  it.each<[string, SessionEvent[], string]>([
    ['stopped', [state('streaming'), lost(900, 'stopped'), state('stopped')], 'ended stopped'],
    ['stopped if one channel was', [state('done', 0), state('stopped', 1)], 'ended stopped'],
    ['failed if a caught session has', [state('failed', 0), state('done', 1)], 'ended failed'],
    ['done without a state of its own', [state('streaming')], 'ended done'],
  ])('ends as %s', (_, events, expected) => {
    expect(statesOf(events).at(-1)).toBe(expected)
  })

  it('wraps an error of the source that is none of the library', () => {
    expect(
      statesOf(
        [],
        throwError(() => new Error('other')),
      ),
    ).toEqual(['idle', 'ended failed internal'])
  })

  it('adds up what was lost, but not silence', () => {
    expect(statesOf([lost(100, 'buffer-full'), lost(50, 'silence'), lost(30, 'failed')], NEVER)).toEqual([
      'idle',
      'idle -100',
      'idle -130',
    ])
  })

  it('handles an event that a consumer causes', () => {
    const source$ = new Subject<SessionEvent>()
    const seen: string[] = []
    source$.pipe(sessionState(), map(name)).subscribe((one) => {
      seen.push(one)
      if (one === 'connecting') source$.next(state('streaming'))
    })
    source$.next(state('connecting'))
    source$.next(state('finalizing'))
    expect(seen).toEqual(['idle', 'connecting', 'live', 'finishing'])
  })

  it('unsubscribes from the session when its consumer has enough', () => {
    const source$ = new Subject<SessionEvent>()
    source$.pipe(sessionState(), take(2)).subscribe()
    source$.next(state('streaming'))
    expect(source$.observed).toBe(false)
  })

  it('refuses an unknown option', () => {
    expect(codeThrownBy(() => sessionState({ clock: 1 } as object))).toBe('invalid-options')
  })
})
