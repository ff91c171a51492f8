import { generateKeyPairSync } from 'node:crypto'
import { join } from 'node:path'
import { either } from 'fp-ts'
import * as t from 'io-ts'
import { SpeechError } from '../../errors/speech-error.js'
import { readPrivateJson, writePrivateFile } from './state-file.js'
import { tokenLifetimeMs } from './token-claims.js'

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
  /** Newest first: the first signs, all verify. */
  readonly current: () => readonly [SigningJwk, ...SigningJwk[]]
  /** Makes a new key when the newest has its age; true when the keys have changed. */
  readonly rotateIfDue: () => Promise<boolean>
}

const createKey = async (createdAtMs: number): Promise<SigningKey> => {
  const { calculateJwkThumbprint } = await import('jose')
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

/** The key and all those whose tokens may still be in use: a token lives for a year after its key was followed by another. */
const withoutOutlived = (newestFirst: readonly SigningKey[], nowMs: number): readonly SigningKey[] =>
  newestFirst.filter((_, index) => {
    const follower = newestFirst[index - 1]
    return follower === undefined || follower.createdAtMs + tokenLifetimeMs > nowMs
  })

/**
 * The ES256 keys that sign access tokens, with rotation and overlap. One process at a time owns a state folder.
 * Throws `invalid-options` when the file of keys is damaged.
 */
export const openSigningKeys = async ({
  stateFolder,
  now,
  rotateAfterMs,
}: SigningKeysOptions): Promise<SigningKeys> => {
  const path = stateFolder === undefined ? undefined : join(stateFolder, 'signing-keys.json')
  let keys: readonly SigningKey[] = path === undefined ? [] : await load(path)
  let rotation: Promise<boolean> | undefined

  const isDue = (): boolean => {
    const newest = keys[0]
    return newest === undefined || newest.createdAtMs + rotateAfterMs <= now()
  }
  const rotate = async (): Promise<boolean> => {
    const next = withoutOutlived([await createKey(now()), ...keys], now())
    if (path !== undefined) await writePrivateFile(path, `${JSON.stringify({ keys: next }, undefined, 2)}\n`)
    keys = next
    return true
  }
  const rotateIfDue = (): Promise<boolean> => {
    if (!isDue()) return Promise.resolve(false)
    rotation ??= rotate().finally(() => (rotation = undefined))
    return rotation
  }

  await rotateIfDue()
  return {
    rotateIfDue,
    current: () => {
      const [first, ...rest] = keys.map(({ jwk }) => jwk)
      if (first === undefined) throw new SpeechError('internal', 'There is no signing key; start the service again.')
      return [first, ...rest]
    },
  }
}
