import { Subject } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../../../src/errors/speech-error.js'
import { grantCheckMs, RunningGrants } from '../../src/sessions/running-grants.js'
import type { Grant } from '../../src/identity/tokens/token-verifier.js'
import { VirtualClock } from '../../../service/test/virtual-clock.js'

const grant = (tokenId: string, change: Partial<Grant> = {}): Grant => ({
  clientId: 'client',
  tokenId,
  tenants: [],
  projects: [],
  models: [],
  expiresAtMs: Infinity,
  ...change,
})

/** An authority controlled by the test, which counts how often it is asked for a grant. */
const setup = () => {
  const clock = new VirtualClock()
  const changed$ = new Subject<undefined>()
  const faults: unknown[] = []
  const revoked = new Set<string>()
  const account = { version: 0, asked: 0, fault: undefined as Error | undefined }
  const running = new RunningGrants({
    authority: {
      version: () => {
        if (account.fault !== undefined) throw account.fault
        return account.version
      },
      endOf: ({ tokenId, expiresAtMs }) => {
        account.asked += 1
        if (revoked.has(tokenId)) return new SpeechError('unauthenticated', 'revoked')
        return expiresAtMs <= clock.now() ? new SpeechError('unauthenticated', 'expired') : undefined
      },
      changed$,
    },
    scheduler: clock,
    onFault: (error) => faults.push(error),
  })
  const received: string[] = []
  const add = (grant: Grant) => {
    const { ended$, release } = running.add(grant)
    ended$.subscribe(({ message }) => received.push(`${grant.tokenId} ${message} at ${clock.now()}`))
    return { release, ended$ }
  }
  return { clock, changed$, faults, revoked, account, running, received, add }
}

describe('RunningGrants', () => {
  it('reports to every session of a token within a second that another process has revoked it, and to no other', () => {
    const { clock, revoked, account, received, add } = setup()
    add(grant('a'))
    add(grant('a'))
    add(grant('b'))
    clock.advanceTo(10_000)
    expect([received, account.asked]).toEqual([[], 0])
    revoked.add('a')
    account.version += 1
    clock.advanceTo(10_000 + grantCheckMs)
    expect(received).toEqual(['a revoked at 11000', 'a revoked at 11000'])
    expect(account.asked).toBe(2)
  })

  it('reports it immediately when this process did it, also to later subscribers', () => {
    const { clock, revoked, account, changed$, received, running, add } = setup()
    const { ended$ } = add(grant('a'))
    revoked.add('a')
    account.version += 1
    changed$.next(undefined)
    expect(received).toEqual(['a revoked at 0'])
    const late: string[] = []
    ended$.subscribe({ next: ({ message }) => late.push(message), complete: () => late.push('complete') })
    expect(late).toEqual(['revoked', 'complete'])
    expect([running.size, clock.waiting, changed$.observed]).toEqual([0, 0, false])
  })

  it('sees a revocation after the token was checked and before the session was added', () => {
    const { clock, revoked, account, received, add } = setup()
    revoked.add('a')
    account.version += 1
    add(grant('a'))
    clock.advanceTo(grantCheckMs)
    expect(received).toEqual(['a revoked at 1000'])
  })

  it('reports the end of a grant, however far off, within a second', () => {
    const yearMs = 31_536_000_000
    const { clock, received, add } = setup()
    clock.frame = yearMs - 1_000
    add(grant('long', { expiresAtMs: yearMs + 500 }))
    clock.advanceTo(yearMs + 499)
    expect(received).toEqual([])
    clock.advanceTo(yearMs + 2_000)
    expect(received).toHaveLength(1)
    expect(Number(/at (\d+)/.exec(received[0] ?? '')?.[1]) - yearMs).toBeLessThanOrEqual(500 + grantCheckMs)
  })

  it('has one timer for all sessions, and none when the last has ended', () => {
    const { clock, changed$, running, add } = setup()
    const sessions = [add(grant('a')), add(grant('a')), add(grant('b'))]
    expect([clock.waiting, running.size]).toEqual([1, 2])
    sessions[0]?.release()
    sessions[0]?.release()
    expect(running.size).toBe(2)
    for (const { release } of sessions) release()
    expect([clock.waiting, running.size, changed$.observed]).toEqual([0, 0, false])
    add(grant('c')).release()
    expect(clock.waiting).toBe(0)
  })

  it('reports a failing store once, ends no session for it, and continues when it is back', () => {
    const { clock, faults, revoked, account, received, add } = setup()
    add(grant('a'))
    account.fault = new Error('gone')
    clock.advanceTo(5_000)
    expect([faults, received]).toEqual([[account.fault], []])
    account.fault = undefined
    revoked.add('a')
    account.version += 1
    clock.advanceTo(6_000)
    expect(received).toEqual(['a revoked at 6000'])
  })
})
