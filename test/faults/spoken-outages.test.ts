import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { liveService, type LiveService } from '../interop/live-service.js'
import { outcomeOf } from './proved-session.js'
import { expectSame, overBoth, proxiedSession, SpokenCall, undisturbed, type Heard } from './spoken-call.js'

let live: LiveService
let call: SpokenCall
let calm: Heard
beforeAll(async () => {
  live = await liveService({ defaultModel: 'call' })
  // The restaurant asks which day, and has not been silent for long enough.
  call = await SpokenCall.until(8_640)
  calm = await undisturbed(live, call)
}, 60_000)
afterAll(() => live.close())

/** The guest is at "table". */
const midWordMs = 5_500

describe.each(overBoth)('a call over %s', { timeout: 60_000 }, (over) => {
  it('is read as the undisturbed one after an outage of 3 s', async () => {
    const { proxy, session } = await proxiedSession(live, over, call)
    const heard = await outcomeOf(session(call.played(8, midWordMs, () => proxy.outage(3_000))))
    await proxy.close()
    expectSame({ over, ...heard }, calm, call)
    const attempts = heard.events.flatMap((event) =>
      event.type === 'connection' && event.state === 'reconnecting' ? [event.attempt] : [],
    )
    expect(Math.max(...attempts)).toBeGreaterThan(2)
  })

  it('is read as the undisturbed one when its line goes half-open', async () => {
    const patience = over === 'grpc' ? { keepaliveMs: 1_000 } : { heartbeatMs: 1_000 }
    const { proxy, session } = await proxiedSession(live, over, call, patience)
    const heard = await outcomeOf(session(call.played(8, midWordMs, () => proxy.halfOpen())))
    await proxy.close()
    expectSame({ over, ...heard }, calm, call)
    const causes = heard.events.flatMap((event) =>
      event.type === 'connection' && event.state === 'reconnecting' ? [event.cause] : [],
    )
    expect(causes).toContain('connection-lost')
  })
})
