import { JetStreamApiError } from '@nats-io/jetstream'
import { errors } from '@nats-io/transport-node'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { whilePassing } from '../../src/identity/bucket.js'
import { flushPromises, VirtualClock } from '../../../service/test/virtual-clock.js'

const answer = (err_code: number, description: string): Error =>
  new JetStreamApiError({ code: 503, err_code, description })
const leaderless = answer(10_008, 'JetStream system temporarily unavailable')

let clock: VirtualClock
beforeEach(() => {
  clock = new VirtualClock()
})
afterEach(() => {
  expect(clock.waiting).toBe(0)
})

/** Servers that give these answers one after another, and then open. */
const serversThat = (...failures: readonly Error[]) => {
  const asked: number[] = []
  const request = (): Promise<string> => {
    const failure = failures[asked.push(clock.now()) - 1]
    return failure === undefined ? Promise.resolve('open') : Promise.reject(failure)
  }
  return { asked, request }
}
const pass = async (ms: number): Promise<void> => {
  for (const endMs = clock.now() + ms; clock.now() < endMs;) {
    await flushPromises()
    clock.advanceTo(Math.min(endMs, clock.now() + 100))
  }
  await flushPromises()
}

describe('a request to JetStream', () => {
  it('is repeated each half second while the servers elect a leader', async () => {
    const { asked, request } = serversThat(
      answer(10_005, 'no suitable peers for placement'),
      leaderless,
      answer(10_009, 'JetStream cluster can not handle request'),
      answer(10_118, 'stream is offline'),
      new errors.TimeoutError(),
    )
    const opened = whilePassing(request, { withinMs: 30_000, scheduler: clock })
    await pass(3_000)
    expect(await opened).toBe('open')
    expect(asked).toEqual([0, 500, 1_000, 1_500, 2_000, 2_500])
  })

  it('fails with the last answer when they have none in time', async () => {
    const { asked, request } = serversThat(...Array.from({ length: 5 }, () => leaderless))
    const opened = whilePassing(request, { withinMs: 1_600, scheduler: clock }).catch((error: unknown) => error)
    await pass(5_000)
    expect(await opened).toBe(leaderless)
    expect(asked).toEqual([0, 500, 1_000, 1_500])
  })

  it.each([
    ['there is no JetStream', new Error('jetstream is not enabled')],
    ['the user may not ask', new errors.PermissionViolationError('not allowed', 'publish', '$JS.API.INFO')],
    ['the bucket would differ', answer(10_058, 'stream name already in use with a different configuration')],
  ])('is not repeated when %s', async (_what, failure) => {
    const { asked, request } = serversThat(failure)
    await expect(whilePassing(request, { withinMs: 30_000, scheduler: clock })).rejects.toBe(failure)
    expect(asked).toEqual([0])
  })
})
