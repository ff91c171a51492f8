import { describe, expect, it } from 'vitest'
import {
  hashSecret,
  isSecretHash,
  newClientId,
  newClientSecret,
  unmatchableHash,
  verifySecret,
} from '../../../src/identity/clients/client-secret.js'
import { isClientId } from '../../../src/identity/clients/client.js'

describe('client secrets', () => {
  it("match their own hash and no other secret's", async () => {
    const hash = await hashSecret('s3cret \u00e9')
    expect(await verifySecret('s3cret \u00e9', hash)).toBe(true)
    for (const other of ['s3cret e', 's3cret \u00e9 ', '']) expect(await verifySecret(other, hash)).toBe(false)
  })

  it('have a separate salt each, and do not appear in the hash', async () => {
    const [first, second] = [await hashSecret('twice'), await hashSecret('twice')]
    expect(first).not.toBe(second)
    expect(first).toMatch(/^scrypt\$16384\$8\$1\$[\w-]{22}\$[\w-]{43}$/)
  })

  it('agree with the test vector of RFC 7914 section 12', async () => {
    // The vector with p = 1; a hash holds the first 32 of its 64 bytes, which PBKDF2 makes the same at any length.
    const salt = Buffer.from('SodiumChloride').toString('base64url')
    const vector = '7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2'
    const hash = Buffer.from(vector, 'hex').toString('base64url')
    expect(await verifySecret('pleaseletmein', `scrypt$16384$8$1$${salt}$${hash}`)).toBe(true)
    expect(await verifySecret('pleaseletmeout', `scrypt$16384$8$1$${salt}$${hash}`)).toBe(false)
  })

  it('can be verified at every cost that a hash may state', async () => {
    for (const cost of ['2$1$1', '1024$8$4', '32768$1$1', '131072$2$1']) {
      expect(await verifySecret('x', `scrypt$${cost}$${'A'.repeat(22)}$${'A'.repeat(43)}`)).toBe(false)
    }
  })

  it.each([
    ['empty', ''],
    ['the secret itself', 'secret'],
    ['too costly', `scrypt$262144$8$1$${'A'.repeat(22)}$${'A'.repeat(43)}`],
    ['with a cost that is not a power of two', `scrypt$1000$8$1$${'A'.repeat(22)}$${'A'.repeat(43)}`],
    ['with a cost that RFC 7914 forbids', `scrypt$131072$1$1$${'A'.repeat(22)}$${'A'.repeat(43)}`],
    ['without cost', `scrypt$0$8$1$${'A'.repeat(22)}$${'A'.repeat(43)}`],
    ['cut', `scrypt$16384$8$1$${'A'.repeat(22)}$${'A'.repeat(42)}`],
  ])('match nothing when the hash is %s', async (_, hash) => {
    expect(isSecretHash(hash)).toBe(false)
    expect(await verifySecret('secret', hash)).toBe(false)
  })

  it('take as long for an unknown client as for a known one', () => {
    expect(unmatchableHash()).toMatch(/^scrypt\$16384\$8\$1\$[\w-]{22}\$[\w-]{43}$/)
  })

  it('are new each time, and so are client ids', () => {
    expect(newClientSecret()).toMatch(/^[\w-]{43}$/)
    expect(isClientId(newClientId())).toBe(true)
    expect(new Set(Array.from({ length: 100 }, newClientSecret)).size).toBe(100)
    const ids = Array.from({ length: 1_000 }, newClientId)
    expect(new Set(ids).size).toBe(1_000)
    expect(ids.filter((id) => id.startsWith('-'))).toEqual([])
  })
})

describe('control characters in secrets', () => {
  it('are rejected, so that a trailing NUL is not ignored', async () => {
    const hash = await hashSecret('a secret')
    for (const secret of ['a secret\0', 'a secret\0\0', 'a secret\n', '\u007fa secret']) {
      expect(await verifySecret(secret, hash)).toBe(false)
      await expect(hashSecret(secret)).rejects.toMatchObject({ code: 'invalid-options' })
    }
    expect(await verifySecret('a secret', hash)).toBe(true)
  })
})
