import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { liveService, type LiveService } from '../interop/live-service.js'
import { callService, expectSame, SpokenCall, undisturbed, type CallOutcome } from './spoken-call.js'
import { disturbedCall, expectNoDelays } from './two-services.js'

let live: readonly [LiveService, LiveService]
let call: SpokenCall
let reference: CallOutcome
beforeAll(async () => {
  live = await Promise.all([liveService(callService), liveService(callService)])
  call = await SpokenCall.between(8_800, 18_440)
  reference = await undisturbed(live[0], call)
  // Its engine starts with the first session.
  await undisturbed(live[1], call)
})
afterAll(() => Promise.all(live.map((service) => service.close())))

/** In words. The disturbance of the other service is over each time. */
const moments = [
  { atMs: 1_800, disturbance: 'kill' },
  { atMs: 4_000, disturbance: 'freeze' },
  { atMs: 7_000, disturbance: 'slow down' },
] as const

// In real time, because a slow service shows itself only there; both concurrently.
describe.concurrent('a call over two services, of which the one in use is killed, frozen and slowed down', () => {
  it.each([
    ['grpc', 'websocket'],
    ['websocket', 'grpc'],
  ] as const)('has the same results as the undisturbed call, over %s and %s', async (first, second) => {
    const outcome = await disturbedCall(live, [first, second], call, moments)
    expectSame(outcome, reference, call)
    expectNoDelays(outcome)
    // Of both channels.
    expect(outcome.switchesMs.length).toBeGreaterThanOrEqual(3)
    expect(new Set(outcome.services)).toEqual(new Set([0, 1]))
  })
})
