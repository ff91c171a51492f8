import { generateKeyPairSync } from 'node:crypto'
import { join } from 'node:path'
import { either } from 'fp-ts'
import * as t from 'io-ts'
import { SpeechError } from '../../../errors/speech-error.js'
import { storeError, fileStamp, readPrivateJson, writePrivateFile } from '../state/state-files.js'
import type * as Jose from 'jose' with { 'resolution-mode': 'import' }
import { loadOptional } from '../../../errors/load-optional.js'

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

/** How long an access token is good: 365 days (PROTOCOL 2). */
export const tokenLifetimeMs = 31_536_000_000

/** In the state folder. */
export const signingKeysFile = 'signing-keys.json'

interface SigningKey {
  readonly createdAtMs: number
  readonly jwk: SigningJwk
}

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

export interface SigningKeysOptions {
  /** Where the keys survive a restart; without it they live as long as the process. */
  readonly stateFolder?: string
  readonly now: () => number
  /** The age at which a key is followed by a new one, in milliseconds. */
  readonly rotateAfterMs: number
}

export interface SigningKeys {
  /** The first signs, all verify and are published; the same list until something has changed. */
  readonly current: () => SigningKeyList
  /** Takes over what other processes have written, and makes a new key when the newest has its age; true when the list has changed. */
  readonly rotateIfDue: () => Promise<boolean>
  /** Makes a new key now; `alone`: all others end with it, and it signs at once. Gives its id. */
  readonly rotate: (options?: { readonly alone?: boolean }) => Promise<string>
  /** The first half of that: looks at the file again; true when the list has changed. */
  readonly refresh: () => Promise<boolean>
}

export type SigningKeyList = readonly [SigningJwk, ...SigningJwk[]]

/**
 * For so long a new key is published before it signs: twice as long as the answer at `/jwks` may be kept. Until then,
 * processes that made one at the same time have also agreed on the one that stayed in the file.
 */
export const publishAheadMs = 600_000

const createKey = async (createdAtMs: number): Promise<SigningKey> => {
  const { calculateJwkThumbprint } = await loadJose()
  const {
    x = '',
    y = '',
    d = '',
  } = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' })
  const key = { kty: 'EC', crv: 'P-256', x, y, d } as const
  return { createdAtMs, jwk: { ...key, kid: await calculateJwkThumbprint(key) } }
}

const load = async (path: string): Promise<readonly SigningKey[]> => {
  const file = either.chain((json: unknown) => fileCodec.decode(json))(await readPrivateJson(path, { keys: [] }))
  // New keys instead would refuse every token in use, so a person decides.
  if (either.isLeft(file)) {
    throw new SpeechError(
      'invalid-options',
      'signing-keys.json in the state folder is damaged; restore it, or delete it and issue new tokens.',
    )
  }
  return file.right.keys
}

/** The key and all those whose tokens may still be in use: a token lives for a year after another key has begun to sign. */
const withoutOutlived = (newestFirst: readonly SigningKey[], nowMs: number): readonly SigningKey[] =>
  newestFirst.filter((_, index) => {
    const follower = newestFirst[index - 1]
    return follower === undefined || follower.createdAtMs + publishAheadMs + tokenLifetimeMs > nowMs
  })

/** The newest that has been published long enough, or the oldest; then the others, the newest first. */
const signingFirst = (newestFirst: readonly SigningKey[], nowMs: number): readonly SigningJwk[] => {
  const ready = newestFirst.findIndex(({ createdAtMs }) => createdAtMs + publishAheadMs <= nowMs)
  const signing = newestFirst.at(ready)
  return newestFirst.toSorted((one, other) => Number(other === signing) - Number(one === signing)).map(({ jwk }) => jwk)
}

/** Of processes that make the first key at once one wins; a key after it does not sign before all have seen the file. */
const save = (path: string, keys: readonly SigningKey[], onlyIfAbsent: boolean): Promise<void> =>
  writePrivateFile(path, `${JSON.stringify({ keys }, undefined, 2)}\n`, { onlyIfAbsent }).catch((error: unknown) => {
    throw storeError(error, signingKeysFile)
  })

/** Of processes that write at the same time the last one wins. */
const checkKept = (keys: readonly SigningKey[], { kid }: SigningJwk, alone: boolean): void => {
  if (keys.some(({ jwk }) => jwk.kid === kid) && (!alone || keys.length === 1)) return
  throw new SpeechError('overloaded', 'Another process has made a signing key at the same time; try again.')
}

const notEmpty = (list: readonly SigningJwk[]): SigningKeyList => {
  if (list.length === 0) throw new SpeechError('internal', 'There is no signing key; start the service again.')
  return list as SigningKeyList
}

const sameKids = (one: readonly SigningJwk[], other: readonly SigningJwk[]): boolean =>
  one.length === other.length && one.every(({ kid }, at) => kid === other[at]?.kid)

/**
 * The ES256 keys that sign access tokens, with rotation and overlap. Several processes may share a state folder: each
 * looks at the file again before it signs, and when it meets a key that it does not know. Throws `invalid-options` when the
 * file of keys is damaged or cannot be written, and `overloaded` where the disk is full: the keys of before are good then.
 */
export const openSigningKeys = async ({
  stateFolder,
  now,
  rotateAfterMs,
}: SigningKeysOptions): Promise<SigningKeys> => {
  const path = stateFolder === undefined ? undefined : join(stateFolder, signingKeysFile)
  let keys: readonly SigningKey[] = []
  let list: readonly SigningJwk[] = []
  let stamp: string | undefined
  let rotation: Promise<boolean> | undefined

  /** Keeps the list as it is where it says the same, so that others can tell by it whether anything has changed. */
  const settle = (): boolean => {
    const next = signingFirst(keys, now())
    if (sameKids(list, next)) return false
    list = next
    return true
  }
  const reread = async (): Promise<void> => {
    if (path === undefined) return
    const current = await fileStamp(path)
    if (current === stamp) return
    keys = await load(path)
    stamp = current
  }
  const refresh = async (): Promise<boolean> => {
    await reread()
    return settle()
  }
  const isDue = (): boolean => (keys[0]?.createdAtMs ?? -Infinity) + rotateAfterMs <= now()
  const add = async (others: readonly SigningKey[]): Promise<SigningKey> => {
    const key = await createKey(now())
    const next = withoutOutlived([key, ...others], now())
    if (path === undefined) keys = next
    else await save(path, next, keys.length === 0 && stamp === undefined).then(reread)
    return key
  }
  const rotate = async ({ alone = false } = {}): Promise<string> => {
    await reread()
    const { jwk } = await add(alone ? [] : keys)
    settle()
    checkKept(keys, jwk, alone)
    return jwk.kid
  }
  const rotateIfDue = (): Promise<boolean> => {
    rotation ??= reread()
      .then(() => (isDue() ? add(keys) : undefined))
      .then(settle)
      .finally(() => (rotation = undefined))
    return rotation
  }

  // A key that is due and cannot be written is no reason not to start: the ones that are there are good.
  await rotateIfDue().catch((error: unknown) => {
    if (keys.length === 0) throw error
    settle()
  })
  return {
    rotateIfDue,
    rotate,
    refresh,
    current: () => notEmpty(list),
  }
}

/** Loads jose, which is optional. Rejects with `missing-dependency`. */
export const loadJose = (): Promise<typeof Jose> => loadOptional('jose', 'The identity service', () => import('jose'))
