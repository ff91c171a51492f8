import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { outcomeOf } from '../../../../test/faults/proved-session.js'
import { bothTransports, expectSame, proxiedSession, SpokenCall, statesOf, undisturbed } from '../faults/spoken-call.js'
import { serviceOfWorkers, type ServiceOfWorkers } from './service-of-workers.js'

describe('workers that hang', () => {
  let live: ServiceOfWorkers
  beforeAll(async () => {
    live = await serviceOfWorkers()
  })
  afterAll(() => live.close())

  it('are killed and started again, and a session over each transport loses nothing', async () => {
    const call = await SpokenCall.shortCall()
    const reference = await undisturbed(live, call)
    const hang = (): void => {
      for (const worker of [1, 2]) live.kill(worker, 'SIGSTOP')
    }
    const outcomes = await Promise.all(
      bothTransports.map(async (over) => {
        const { proxy, session } = await proxiedSession(live, over, call)
        const outcome = await outcomeOf(session(call.played(8, 1_800, hang)))
        await proxy.close()
        return { over, ...outcome }
      }),
    )
    for (const outcome of outcomes) {
      expectSame(outcome, reference, call)
      expect(statesOf(outcome.events)).toContain('reconnecting')
    }
    expect(live.logged('Worker ended')).toMatchObject([{ how: 'SIGKILL' }, { how: 'SIGKILL' }])
    expect(live.logged('Worker hangs').at(-1)).toMatchObject({ reason: 'it did not answer for 10 s' })
    await expect.poll(() => live.logged('Worker started').length).toBe(4)
  })
})
