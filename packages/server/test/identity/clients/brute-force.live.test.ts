import { VirtualTimeScheduler } from 'rxjs'
import { afterEach, expect, it, describe } from 'vitest'
import type { IdentityOptions } from '../../../src/identity/identity.js'
import { open, storeOf, subscriber, tokenForm } from '../service-under-test.js'
import { first, longIt } from '../../../../../test/thorough.js'

describe('brute force', () => {
  let service: Awaited<ReturnType<typeof open>> | undefined
  afterEach(async () => {
    await service?.close()
    service = undefined
  })

  /** A service whose clients send their address in a header. */
  const openHere = async (failuresPerMinute: number, more: Partial<IdentityOptions> = {}) => {
    const { client } = await subscriber()
    service = await open({
      clients: storeOf(client, { ...client, clientId: 'client-2' }),
      bruteForce: { failuresPerMinute },
      addressOf: ({ headers }) => String(headers['x-from'] ?? '192.0.2.1'),
      ...more,
    })
    const { post } = service
    return async (clientId: string, from: string, secret?: string) => {
      const form = tokenForm({ client_id: clientId, ...(secret === undefined ? {} : { client_secret: secret }) })
      const answer = await post(form, { 'x-from': from })
      return { status: answer.status, retryAfter: answer.headers.get('retry-after'), body: await answer.json() }
    }
  }
  const statuses = async (attempts: readonly Promise<{ status: number }>[]) =>
    (await Promise.all(attempts)).map(({ status }) => status)

  it('answers 429 to a client that failed too often from an address, and neither to another client nor at other addresses', async () => {
    const attempt = await openHere(3)
    for (let count = 0; count < 3; count += 1) {
      expect((await attempt('client-1', '192.0.2.1', 'wrong')).status).toBe(401)
    }
    const refused = await attempt('client-1', '192.0.2.1')
    expect(refused.status).toBe(429)
    expect(refused.body).toMatchObject({ error: 'too_many_attempts' })
    expect(Number(refused.retryAfter)).toBeGreaterThan(0)
    expect(Number(refused.retryAfter)).toBeLessThanOrEqual(60)
    expect((await attempt('client-2', '192.0.2.1')).status).toBe(200)
    expect((await attempt('client-1', '192.0.2.2')).status).toBe(200)
  })

  it('slows guesses at a client from many addresses, and accepts it from an address where it has succeeded recently', async () => {
    const attempt = await openHere(1)
    expect((await attempt('client-1', '192.0.2.99')).status).toBe(200)
    for (let count = 0; count < 10; count += 1) {
      expect((await attempt('client-1', `192.0.2.${count}`, 'wrong')).status).toBe(401)
    }
    expect((await attempt('client-1', '192.0.2.50', 'wrong')).status).toBe(429)
    expect((await attempt('client-1', '192.0.2.50')).status).toBe(429)
    expect((await attempt('client-1', '192.0.2.99')).status).toBe(200)
    expect((await attempt('client-2', '192.0.2.50')).status).toBe(200)
  })

  it('answers 429 to an address that failed five times as often, whatever client it names, before it reads the request', async () => {
    const attempt = await openHere(1)
    for (const clientId of ['a', 'b', 'c', 'd', 'e']) {
      expect((await attempt(clientId, '192.0.2.1', 'wrong')).status).toBe(401)
    }
    const refused = await attempt('client-1', '192.0.2.1')
    expect([refused.status, Number(refused.retryAfter) > 0]).toStrictEqual([429, true])
    const answer = await service?.post(new URLSearchParams({ grant_type: 'password' }), { 'x-from': '192.0.2.1' })
    expect(answer?.status).toBe(429)
    expect((await attempt('client-1', '192.0.2.2')).status).toBe(200)
  })

  longIt(
    'accepts a client from an address where its secret was right recently, however many failures others had there',
    async () => {
      const attempt = await openHere(1)
      expect((await attempt('client-1', '192.0.2.1')).status).toBe(200)
      for (const clientId of ['client-1', 'a', 'b', 'c', 'd']) {
        expect((await attempt(clientId, '192.0.2.1', 'wrong')).status).toBe(401)
      }
      // Guesses stay limited, for this client too, and so do clients without a recent success there.
      expect((await attempt('client-1', '192.0.2.1', 'wrong')).status).toBe(429)
      expect((await attempt('client-2', '192.0.2.1')).status).toBe(429)
      expect((await attempt('client-1', '192.0.2.1')).status).toBe(200)
    },
  )

  it('accepts them again after a minute', async () => {
    const scheduler = new VirtualTimeScheduler()
    const attempt = await openHere(1, { scheduler })
    await attempt('client-1', '192.0.2.1', 'wrong')
    scheduler.frame = 59_999
    expect(await attempt('client-1', '192.0.2.1')).toMatchObject({ status: 429, retryAfter: '1' })
    scheduler.frame = 60_000
    expect((await attempt('client-1', '192.0.2.1')).status).toBe(200)
  })

  it('does not count successes', async () => {
    const attempt = await openHere(2)
    for (let count = 0; count < 4; count += 1) expect((await attempt('client-1', '192.0.2.1')).status).toBe(200)
  })

  it('counts concurrent guesses', async () => {
    const attempt = await openHere(3)
    const guesses = Array.from({ length: 12 }, () => attempt('client-1', '192.0.2.1', 'wrong'))
    const failed = (await statuses(guesses)).filter((status) => status === 401)
    // One more may be in progress when the limit is reached.
    expect(failed.length).toBeGreaterThanOrEqual(3)
    expect(failed.length).toBeLessThanOrEqual(4)
  })

  it.each(
    first(1, [
      [20, {}],
      [200, { development: true }],
    ] as const),
  )('allows %i failures by default, with %j', async (limit, more) => {
    const { client } = await subscriber({ secretHash: `scrypt$2$1$1$${'A'.repeat(22)}$${'A'.repeat(43)}` })
    service = await open({ clients: storeOf(client), ...more })
    for (let count = 0; count < limit; count += 1) expect((await service.post(tokenForm())).status).toBe(401)
    expect((await service.post(tokenForm())).status).toBe(429)
  })
})
