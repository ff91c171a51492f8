import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { hashSecret } from '../../../server/src/identity/clients/client-secret.js'
import type { StoredClient } from '../../../server/src/identity/clients/client.js'
import {
  decodeClient,
  decodeRevocation,
  encodeClient,
  encodeRevocation,
  keyOf,
  nameOf,
} from '../../src/identity/entries.js'

let secretHash: string
beforeAll(async () => {
  secretHash = await hashSecret('correct horse battery staple')
})

describe('keys of the bucket', () => {
  it('name each client and each token by characters that NATS allows, and no two by the same key', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'binary' }), (id) => {
        const [client, revocation] = [
          keyOf({ kind: 'client', clientId: id }),
          keyOf({ kind: 'revocation', tokenId: id }),
        ]
        expect(client).toMatch(/^client\.[-\w=]+$/)
        expect(nameOf(client)).toEqual({ kind: 'client', clientId: id })
        expect(nameOf(revocation)).toEqual({ kind: 'revocation', tokenId: id })
      }),
    )
  })

  it('are readable for plain ids', () => {
    expect(keyOf({ kind: 'client', clientId: 'acme-1' })).toBe('client.acme-1')
    expect(keyOf({ kind: 'client', clientId: 'a@b.c=d' })).toBe('client.a=40b=2ec=3dd')
  })

  it.each(['client', 'client.a.b', 'other.a', ''])('are unknown for %j', (key) => {
    expect(nameOf(key)).toBeUndefined()
  })
})

const client = (change: Partial<StoredClient> = {}): StoredClient => ({
  clientId: 'acme',
  secretHash,
  tenants: ['Acme'],
  projects: ['*'],
  models: [],
  validFromMs: 1,
  validUntilMs: Infinity,
  cancelled: false,
  mayIntrospect: false,
  createdAtMs: 2,
  ...change,
})

describe('values of the bucket', () => {
  it('keep everything of a client', () => {
    const all: Partial<StoredClient>[] = [
      {},
      { cancelled: true, mayIntrospect: true, validUntilMs: 5, tokenLifetimeSeconds: 60 },
      { previousSecret: { hash: secretHash, untilMs: 7 } },
    ]
    for (const change of all) expect(decodeClient('acme', encodeClient(client(change)))).toEqual(client(change))
    expect(decodeRevocation(encodeRevocation(5))).toBe(5)
  })

  it.each<readonly [string, (value: Record<string, unknown>) => unknown]>([
    ['a later version', (value) => ({ ...value, v: 2 })],
    ['a missing field', ({ tenants: _, ...value }) => value],
    ['a secret instead of its hash', (value) => ({ ...value, secretHash: 'hunter2' })],
    ['no object', () => 'text'],
    ...[0.5, 0, -60, 59, 31_536_001, 1e300, '60', null].map(
      (seconds) =>
        [
          `a life of tokens of ${JSON.stringify(seconds)} s`,
          (value: Record<string, unknown>) => ({ ...value, tokenLifetimeSeconds: seconds }),
        ] as const,
    ),
    ...['validFromMs', 'validUntilMs', 'createdAtMs'].map(
      (name) =>
        [
          `a ${name} that is no instant`,
          (value: Record<string, unknown>) => ({ ...value, [name]: 8.64e15 + 2 }),
        ] as const,
    ),
    [
      'an end of the previous secret that is no instant',
      (value) => ({ ...value, previousSecret: { hash: secretHash, untilMs: 1e300 } }),
    ],
  ])('are refused with %s', (_what, change) => {
    const value = JSON.parse(encodeClient(client())) as Record<string, unknown>
    expect(decodeClient('acme', JSON.stringify(change(value)))).toBeUndefined()
  })

  it('are refused when they are not JSON', () => {
    expect([decodeClient('acme', '{'), decodeRevocation('')]).toEqual([undefined, undefined])
    expect(decodeRevocation('{"v":1,"untilMs":1e300}')).toBeUndefined()
  })
})
