import { describe, expect, it } from 'vitest'
import * as fc from 'fast-check'
import {
  grantedByBoth,
  isGranted,
  isInForce,
  memorySubscriptions,
  type Subscription,
} from '../../../../src/service/identity/clients/client.js'
import { subscriber } from '../service-under-test.js'

describe('memorySubscriptions', () => {
  it('finds a subscription by its client id alone', async () => {
    const { subscription } = await subscriber()
    const store = memorySubscriptions([subscription])
    expect(store.find('client-1')).toBe(subscription)
    for (const other of ['', 'client-2', 'CLIENT-1', '__proto__']) expect(store.find(other)).toBeUndefined()
  })

  it.each<[string, Partial<Subscription>]>([
    ['an empty clientId', { clientId: '' }],
    ['a clientId with a colon', { clientId: 'a:b' }],
    ['a clientId that is too long', { clientId: 'x'.repeat(129) }],
    ['the secret in place of its hash', { secretHash: 'secret' }],
    ['an end before its beginning', { validFromMs: 2, validUntilMs: 1 }],
    ['more grants than a token holds', { models: Array.from({ length: 1000 }, (_, index) => `model-${index}`) }],
    ['a beginning that is no time', { validFromMs: NaN }],
  ])('refuses a subscription with %s', async (_, changes) => {
    const { subscription } = await subscriber(changes)
    expect(() => memorySubscriptions([subscription])).toThrow(expect.objectContaining({ code: 'invalid-options' }))
  })

  it('refuses two subscriptions of one client', async () => {
    const { subscription } = await subscriber()
    expect(() => memorySubscriptions([subscription, subscription])).toThrow(/client-1/)
  })
})

describe('isInForce', () => {
  it('is true from the first moment of validity to the last, unless cancelled', async () => {
    const { subscription } = await subscriber({ validFromMs: 10, validUntilMs: 20 })
    expect([9, 10, 19, 20].map((atMs) => isInForce(subscription, atMs))).toStrictEqual([false, true, true, false])
    expect(isInForce({ ...subscription, cancelled: true }, 15)).toBe(false)
  })
})

describe('grants', () => {
  const grants = fc.array(fc.constantFrom('*', 'a', 'b', 'c'), { maxLength: 4 })

  it('grant a name that is listed, and every name with *', () => {
    expect([isGranted(['a'], 'a'), isGranted(['a'], 'b'), isGranted(['*'], 'b'), isGranted([], 'a')]).toStrictEqual([
      true,
      false,
      true,
      false,
    ])
  })

  it('of both lists are exactly what each of them grants', () => {
    fc.assert(
      fc.property(grants, grants, fc.constantFrom('a', 'b', 'c', 'd'), (one, other, name) => {
        expect(isGranted(grantedByBoth(one, other), name)).toBe(isGranted(one, name) && isGranted(other, name))
      }),
    )
  })
})
