import { createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto'
import { either } from 'fp-ts'
import * as t from 'io-ts'
import { loadJose } from './load-jose.js'

/** A private EC key of RFC 7518 section 6.2, on P-256 for ES256. */
export interface SigningJwk {
  readonly kty: 'EC'
  readonly crv: 'P-256'
  readonly x: string
  readonly y: string
  readonly d: string
  /** The thumbprint of RFC 7638. */
  readonly kid: string
}

/** A key of the file of keys. */
export interface SigningKey {
  readonly createdAtMs: number
  readonly jwk: SigningJwk
}

/** All keys verify and are published; the first one signs. */
export type SigningKeyList = readonly [SigningJwk, ...SigningJwk[]]

/** How long an access token is valid: 365 days (PROTOCOL 2). */
export const tokenLifetimeMs = 31_536_000_000

/** How much the clocks of machines of one service may differ. NTP keeps them far closer. */
export const clockToleranceMs = 60_000

/** How long a revocation is kept: longer than any token, also of a machine whose clock is ahead. */
export const revocationLifetimeMs = tokenLifetimeMs + 2 * clockToleranceMs

/**
 * How long a new key is published before it signs: twice the cache time of `/jwks`. By then, processes that created a
 * key at the same time also use the one that remained in the file.
 */
export const publishAheadMs = 600_000

const fileCodec: t.Type<{ readonly keys: readonly SigningKey[] }, unknown> = t.type({
  keys: t.readonlyArray(
    t.type({
      createdAtMs: t.number,
      jwk: t.type({
        kty: t.literal('EC'),
        crv: t.literal('P-256'),
        x: t.string,
        y: t.string,
        d: t.string,
        kid: t.string,
      }),
    }),
  ),
})

/** Reads the keys of a file. Left: it is not a file of keys. */
export const decodeKeys = (json: either.Either<unknown, unknown>): either.Either<unknown, readonly SigningKey[]> => {
  if (either.isLeft(json)) return json
  const file = fileCodec.decode(json.right)
  return either.isLeft(file) ? file : either.right(file.right.keys)
}

/** The text of a file of keys. */
export const encodeKeys = (keys: readonly SigningKey[]): string => `${JSON.stringify({ keys }, undefined, 2)}\n`

export const createKey = async (createdAtMs: number): Promise<SigningKey> => {
  const { calculateJwkThumbprint } = await loadJose()
  const {
    x = '',
    y = '',
    d = '',
  } = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' })
  const key = { kty: 'EC', crv: 'P-256', x, y, d } as const
  return { createdAtMs, jwk: { ...key, kid: await calculateJwkThumbprint(key) } }
}

/** Whether a signature of the private key is one of the public key, so that tokens can be verified. */
export const isKeyPair = ({ jwk: { d, ...jwk } }: SigningKey): boolean => {
  try {
    const signature = sign('sha256', proof, createPrivateKey({ format: 'jwk', key: { ...jwk, d } }))
    return verify('sha256', proof, createPublicKey({ format: 'jwk', key: { ...jwk } }), signature)
  } catch {
    return false
  }
}

const proof = Buffer.from('rxspeech')

/** Removes keys without valid tokens: a key's tokens are valid for a year after the next key has begun to sign. */
export const withoutExpired = (newestFirst: readonly SigningKey[], nowMs: number): readonly SigningKey[] =>
  newestFirst.filter((_, index) => {
    const next = newestFirst[index - 1]
    return next === undefined || next.createdAtMs + publishAheadMs + tokenLifetimeMs > nowMs
  })

/** Returns the newest key that was published long enough first, or the oldest; then the others, the newest first. */
export const signingFirst = (newestFirst: readonly SigningKey[], nowMs: number): readonly SigningJwk[] => {
  const ready = newestFirst.findIndex(({ createdAtMs }) => createdAtMs + publishAheadMs <= nowMs)
  const signing = newestFirst.at(ready)
  return newestFirst.toSorted((a, b) => Number(b === signing) - Number(a === signing)).map(({ jwk }) => jwk)
}

export const hasSameKeys = (a: readonly SigningJwk[], b: readonly SigningJwk[]): boolean =>
  a.length === b.length && a.every(({ kid }, index) => kid === b[index]?.kid)
