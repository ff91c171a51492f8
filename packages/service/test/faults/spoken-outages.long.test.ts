import { describe, expect, it } from 'vitest'
import { outcomeOf } from '../../../../test/faults/proved-session.js'
import {
  expectSame,
  midWordMs,
  bothTransports,
  proxiedSession,
  SpokenCall,
  transcriptOf,
  spokenTests,
} from './spoken-call.js'

const tests = spokenTests(() => SpokenCall.shortCall())

// Each waits until its connection is back, all of them concurrently.
describe.concurrent.each(bothTransports)('a call over %s', (over) => {
  it('has the same results as the undisturbed call after an outage of 3 s', async () => {
    const { proxy, session } = await proxiedSession(tests.live, over, tests.call)
    const outcome = await outcomeOf(session(tests.call.played(4, midWordMs, () => proxy.outage(3_000))))
    await proxy.close()
    expectSame({ over, ...outcome }, tests.reference, tests.call)
    expect(transcriptOf(outcome.events, 0).milestones.join('')).toBe('one moment please')
    expect(transcriptOf(outcome.events, 1).milestones.join('')).toBe('friday at half past seven please sure')
    const attempts = outcome.events.flatMap((event) =>
      event.type === 'connection' && event.state === 'reconnecting' ? [event.attempt] : [],
    )
    expect(Math.max(...attempts)).toBeGreaterThan(2)
  })

  it('has the same results as the undisturbed call when its connection becomes half-open', async () => {
    const patience = { connection: { ca: tests.live.ca, heartbeatMs: 1_000 } }
    const { proxy, session } = await proxiedSession(tests.live, over, tests.call, patience)
    const outcome = await outcomeOf(session(tests.call.played(4, midWordMs, () => proxy.halfOpen())))
    await proxy.close()
    expectSame({ over, ...outcome }, tests.reference, tests.call)
    const causes = outcome.events.flatMap((event) =>
      event.type === 'connection' && event.state === 'reconnecting' ? [event.cause] : [],
    )
    expect(causes).toContain('connection-lost')
  })
})
