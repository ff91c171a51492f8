import { describe, expect, it } from 'vitest'
import type { SessionFacts } from '../../src/monitor/service-monitor.js'
import { maxSlowSessions, slowest, SlowSessions } from '../../src/operations/slow-sessions.js'

const facts = (sessionId: string, more: Partial<SessionFacts> = {}): SessionFacts => ({
  sessionId,
  interface: 'grpc',
  peer: '192.0.2.1',
  clientId: 'client',
  tenant: 't',
  model: 'm',
  ...more,
})

const openSessions = () => {
  const clock = { ms: 0 }
  const sessions = new SlowSessions(() => clock.ms)
  const { sessionMoved, milestone, audio } = sessions.monitor
  return {
    clock,
    sessions,
    begin: (id: string, more?: Partial<SessionFacts>) => sessionMoved(facts(id, more), 'opened', 'running'),
    end: (id: string) => sessionMoved(facts(id), 'running', undefined),
    late: (id: string, afterMs: number) => milestone(facts(id), afterMs),
    queue: (id: string, queuedMs: number) => audio(facts(id), { audioMs: 1000, lateMs: 0, queuedMs }),
    ids: () => sessions.list().map(({ sessionId }) => sessionId),
  }
}

describe('the slow sessions', () => {
  it('have what finds them in the log and in the trace, and neither client nor address', () => {
    const { clock, sessions, begin, late, queue } = openSessions()
    begin('s', { traceId: '0af7651916cd43dd8448eb211c80319c' })
    clock.ms = 5_000
    late('s', 900)
    late('s', 300)
    queue('s', 700)
    expect(sessions.list()).toEqual([
      {
        sessionId: 's',
        interface: 'grpc',
        tenant: 't',
        model: 'm',
        traceId: '0af7651916cd43dd8448eb211c80319c',
        startedAtMs: 0,
        isRunning: true,
        lastLagMs: 300,
        worstLagMs: 900,
        worstAtMs: 5_000,
        queuedMs: 700,
      },
    ])
  })

  it('are the worst first, and stay for an hour after their end', () => {
    const { clock, begin, end, late, ids } = openSessions()
    for (const [id, ms] of [
      ['a', 100],
      ['b', 300],
      ['c', 200],
    ] as const) {
      begin(id)
      late(id, ms)
    }
    end('b')
    expect(ids()).toEqual(['b', 'c', 'a'])
    clock.ms = 3_600_000
    expect(ids()).toEqual(['b', 'c', 'a'])
    clock.ms = 4_200_000
    expect(ids()).toEqual(['c', 'a'])
  })

  it('are bounded: the slowest of an hour, and those that wait now', () => {
    const { begin, end, late, queue, ids } = openSessions()
    for (let at = 0; at < 200; at += 1) {
      begin(`ended ${at}`)
      late(`ended ${at}`, 1_000 + at)
      end(`ended ${at}`)
      begin(`running ${at}`)
      queue(`running ${at}`, at)
    }
    expect(ids()).toHaveLength(2 * maxSlowSessions)
    expect(ids()).toEqual(expect.arrayContaining(['ended 199', 'ended 180', 'running 199', 'running 180']))
  })

  it('count the running ones by tenant and model, also those of a socket that recognizes again with another', () => {
    const { clock, sessions, begin, end } = openSessions()
    clock.ms = 1_000
    begin('a')
    begin('b')
    clock.ms = 3_000
    begin('b', { model: 'n' })
    begin('c', { tenant: 'u' })
    sessions.monitor.sessionMoved(facts('b'), 'running', 'flushing')
    clock.ms = 3_500
    end('c')
    expect(sessions.running()).toEqual([
      { tenant: 't', model: 'm', count: 1, ranMs: 4_500 },
      { tenant: 't', model: 'n', count: 1, ranMs: 500 },
      { tenant: 'u', model: 'm', count: 0, ranMs: 500 },
    ])
    clock.ms = 4_000
    end('a')
    clock.ms = 5_000
    expect(sessions.running()).toEqual([
      { tenant: 't', model: 'm', count: 0, ranMs: 500 },
      { tenant: 't', model: 'n', count: 1, ranMs: 1_500 },
    ])
    clock.ms = 0
    expect(sessions.running()).toEqual([{ tenant: 't', model: 'n', count: 1, ranMs: 0 }])
  })

  it('of several processes are one list', () => {
    const [one, other] = [openSessions(), openSessions()]
    one.begin('a')
    one.late('a', 100)
    other.begin('b')
    other.late('b', 200)
    const list = slowest([...one.sessions.list(), ...other.sessions.list()])
    expect(list.map(({ sessionId }) => sessionId)).toEqual(['b', 'a'])
  })
})
