import { describe, expect, it } from 'vitest'
import * as fc from 'fast-check'
import {
  grantedByBoth,
  isGranted,
  isInForce,
  memoryClients,
  type ClientRegistration,
} from '../../../src/identity/clients/client.js'
import { subscriber } from '../service-under-test.js'

describe('memoryClients', () => {
  it('finds a subscription by its client id alone', async () => {
    const { client } = await subscriber()
    const store = memoryClients([client])
    expect(store.find('client-1')).toBe(client)
    for (const other of ['', 'client-2', 'CLIENT-1', '__proto__']) expect(store.find(other)).toBeUndefined()
  })

  it.each<[string, Partial<ClientRegistration>]>([
    ['an empty clientId', { clientId: '' }],
    ['a clientId with a colon', { clientId: 'a:b' }],
    ['a clientId that is too long', { clientId: 'x'.repeat(129) }],
    ['the secret instead of its hash', { secretHash: 'secret' }],
    ['an end before its beginning', { validFromMs: 2, validUntilMs: 1 }],
    ['more grants than a token holds', { models: Array.from({ length: 1000 }, (_, index) => `model-${index}`) }],
    ['a beginning that is not a time', { validFromMs: NaN }],
  ])('rejects a subscription with %s', async (_, changes) => {
    const { client } = await subscriber(changes)
    expect(() => memoryClients([client])).toThrow(expect.objectContaining({ code: 'invalid-options' }))
  })

  it('rejects two subscriptions of one client', async () => {
    const { client } = await subscriber()
    expect(() => memoryClients([client, client])).toThrow(/client-1/)
  })
})

describe('isInForce', () => {
  it('is true from the first moment of validity to the last, unless cancelled', async () => {
    const { client } = await subscriber({ validFromMs: 10, validUntilMs: 20 })
    expect([9, 10, 19, 20].map((atMs) => isInForce(client, atMs))).toStrictEqual([false, true, true, false])
    expect(isInForce({ ...client, cancelled: true }, 15)).toBe(false)
  })
})

describe('grants', () => {
  const grants = fc.array(fc.constantFrom('*', 'a', 'b', 'c'), { maxLength: 4 })

  it('grant a listed name, and every name with *', () => {
    expect([isGranted(['a'], 'a'), isGranted(['a'], 'b'), isGranted(['*'], 'b'), isGranted([], 'a')]).toStrictEqual([
      true,
      false,
      true,
      false,
    ])
  })

  it('of both lists are exactly what each of them grants', () => {
    fc.assert(
      fc.property(grants, grants, fc.constantFrom('a', 'b', 'c', 'd'), (a, b, name) => {
        expect(isGranted(grantedByBoth(a, b), name)).toBe(isGranted(a, name) && isGranted(b, name))
      }),
    )
  })
})
