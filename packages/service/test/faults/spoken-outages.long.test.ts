import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { liveService, type LiveService } from '../interop/live-service.js'
import { outcomeOf } from '../../../../test/faults/proved-session.js'
import {
  callService,
  expectSame,
  midWordMs,
  bothTransports,
  proxiedSession,
  SpokenCall,
  transcriptOf,
  undisturbed,
  type CallOutcome,
} from './spoken-call.js'

let live: LiveService
let call: SpokenCall
let reference: CallOutcome
beforeAll(async () => {
  live = await liveService(callService)
  call = await SpokenCall.shortCall()
  reference = await undisturbed(live, call)
}, 60_000)
afterAll(() => live.close())

// Each waits until its connection is back, all of them concurrently.
describe.concurrent.each(bothTransports)('a call over %s', (over) => {
  it('has the same results as the undisturbed call after an outage of 3 s', async () => {
    const { proxy, session } = await proxiedSession(live, over, call)
    const outcome = await outcomeOf(session(call.played(4, midWordMs, () => proxy.outage(3_000))))
    await proxy.close()
    expectSame({ over, ...outcome }, reference, call)
    expect(transcriptOf(outcome.events, 0).milestones.join('')).toBe('one moment please')
    expect(transcriptOf(outcome.events, 1).milestones.join('')).toBe('friday at half past seven please sure')
    const attempts = outcome.events.flatMap((event) =>
      event.type === 'connection' && event.state === 'reconnecting' ? [event.attempt] : [],
    )
    expect(Math.max(...attempts)).toBeGreaterThan(2)
  })

  it('has the same results as the undisturbed call when its connection becomes half-open', async () => {
    const patience = { connection: { ca: live.ca, heartbeatMs: 1_000 } }
    const { proxy, session } = await proxiedSession(live, over, call, patience)
    const outcome = await outcomeOf(session(call.played(4, midWordMs, () => proxy.halfOpen())))
    await proxy.close()
    expectSame({ over, ...outcome }, reference, call)
    const causes = outcome.events.flatMap((event) =>
      event.type === 'connection' && event.state === 'reconnecting' ? [event.cause] : [],
    )
    expect(causes).toContain('connection-lost')
  })
})
