import { afterAll, beforeAll, describe, it } from 'vitest'
import { seededRandom } from '../../../../src/testing/faults/traffic.js'
import { liveService, type LiveService } from '../interop/live-service.js'
import type { Over } from '../interop/session-options.js'
import { callService, expectSame, SpokenCall, undisturbed, type CallOutcome } from './spoken-call.js'
import { disturbances, disturbedCall, expectNoDelays, expectQuickSwitches, type Moment } from './two-services.js'

let live: readonly [LiveService, LiveService]
let call: SpokenCall
let reference: CallOutcome
beforeAll(async () => {
  live = await Promise.all([liveService(callService), liveService(callService)])
  call = await SpokenCall.until(32_700)
  reference = await undisturbed(live[0], call)
  // Its engine starts with the first session.
  await undisturbed(live[1], call)
})
afterAll(() => Promise.all(live.map((service) => service.close())))

const momentsPerCall = 5
const callCount = 8
/** Longer than a disturbance and its notice, so that the other service works again. */
const apartMs = 5_500
const lastMs = 31_000

/** Random instants, with a random disturbance each. */
const momentsOf = (random: () => number): readonly Moment[] => {
  const freeMs = lastMs - (momentsPerCall - 1) * apartMs
  const offsets = Array.from({ length: momentsPerCall }, () => random() * freeMs).sort((a, b) => a - b)
  return offsets.map((offsetMs, index) => ({
    atMs: Math.round(offsetMs) + index * apartMs,
    disturbance: disturbances[Math.floor(random() * disturbances.length)] ?? 'kill',
  }))
}

const pairs: readonly (readonly [Over, Over])[] = [
  ['grpc', 'websocket'],
  ['websocket', 'grpc'],
  ['grpc', 'grpc'],
  ['websocket', 'websocket'],
]
const random = seededRandom(14)
const rounds = Array.from({ length: callCount / pairs.length }, (_none, index) => ({
  round: index + 1,
  calls: pairs.map(([first, second]) => ({ first, second, moments: momentsOf(random) })),
}))

describe('the sample call over two services, of which one is killed, frozen or slowed down 40 times', () => {
  // In real time, because a slow service shows itself only there; four calls at a time.
  describe.each(rounds)('in round $round', ({ calls }) => {
    it.concurrent.each(calls)(
      'has the same results as undisturbed over $first and $second',
      async ({ first, second, moments }) => {
        const outcome = await disturbedCall(live, [first, second], call, moments)
        expectSame(outcome, reference, call)
        expectNoDelays(outcome)
        expectQuickSwitches(outcome)
      },
    )
  })
})
