import { join } from 'node:path'
import { either } from 'fp-ts'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { fileStamp, readPrivateJson, stateFileError, writePrivateFile, type ReadOptions } from '../state/state-files.js'
import {
  createKey,
  decodeKeys,
  encodeKeys,
  hasSameKeys,
  signingFirst,
  withoutExpired,
  type SigningJwk,
  type SigningKey,
  type SigningKeyList,
} from './key-list.js'

/** The file in the state folder. */
export const signingKeysFile = 'signing-keys.json'

export interface SigningKeysOptions {
  /** Where the keys are stored. Without it they last as long as the process. */
  readonly stateFolder?: string | undefined
  readonly now: () => number
  /** The age at which a new key replaces a key for signing, in milliseconds. */
  readonly rotateAfterMs: number
}

export interface SigningKeys {
  /** All keys verify and are published; the first one signs. The same array until the list changes. */
  readonly current: () => SigningKeyList
  /**
   * Reads what other processes have written, and creates a new key when the newest is due. Returns whether the list
   * changed.
   */
  readonly rotateIfDue: () => Promise<boolean>
  /** Reads the file again if it has changed. Returns whether the list changed. */
  readonly refresh: () => Promise<boolean>
}

/** The keys of a state folder. */
export interface StoredSigningKeys extends SigningKeys {
  /**
   * Creates a new key now and returns its id. With `discardOthers` the other keys end, and the new one signs at once.
   */
  readonly rotate: (options?: { readonly discardOthers?: boolean | undefined }) => Promise<string>
}

/** The keys of a file; none if it is missing. Rejects with `invalid-options` when it is damaged. */
export const readSigningKeys = async (path: string, options?: ReadOptions): Promise<readonly SigningKey[]> => {
  const keys = decodeKeys(await readPrivateJson(path, { keys: [] }, options))
  // New keys would invalidate every token in use, so a person has to decide.
  if (either.isLeft(keys)) {
    throw new SpeechError(
      'invalid-options',
      'signing-keys.json in the state folder is damaged; restore it, or delete it and issue new tokens.',
    )
  }
  return keys.right
}

/**
 * If several processes create the first key at once, one of them succeeds; later keys sign only after all have read the
 * file.
 */
const save = (path: string, keys: readonly SigningKey[], onlyIfAbsent: boolean): Promise<void> =>
  writePrivateFile(path, encodeKeys(keys), { onlyIfAbsent }).catch((error: unknown) => {
    throw stateFileError(error, signingKeysFile)
  })

/** If several processes write at the same time, the last one succeeds. */
const checkKept = (keys: readonly SigningKey[], { kid }: SigningJwk, discardOthers: boolean): void => {
  if (keys.some(({ jwk }) => jwk.kid === kid) && (!discardOthers || keys.length === 1)) return
  throw new SpeechError('overloaded', 'Another process created a signing key at the same time; try again.')
}

const requireKeys = (list: readonly SigningJwk[]): SigningKeyList => {
  if (list.length === 0) throw new SpeechError('internal', 'There is no signing key; start the service again.')
  return list as SigningKeyList
}

/**
 * The ES256 keys that sign access tokens, with rotation and overlap. Several processes can share a state folder: each
 * reads a changed file before it signs or verifies. Rejects with `invalid-options` when the file is damaged or cannot
 * be written, and with `overloaded` when the disk is full; the existing keys stay valid then.
 */
export const openSigningKeys = async ({
  stateFolder,
  now,
  rotateAfterMs,
}: SigningKeysOptions): Promise<StoredSigningKeys> => {
  const path = stateFolder === undefined ? undefined : join(stateFolder, signingKeysFile)
  let keys: readonly SigningKey[] = []
  let list: readonly SigningJwk[] = []
  let stamp: string | undefined
  let rotation: Promise<boolean> | undefined

  /** Keeps the array if the keys are the same, so that callers can compare it to detect a change. */
  const settle = (): boolean => {
    const next = signingFirst(keys, now())
    if (hasSameKeys(list, next)) return false
    list = next
    return true
  }
  const reread = async (): Promise<void> => {
    if (path === undefined) return
    const current = await fileStamp(path)
    if (current === stamp) return
    keys = await readSigningKeys(path)
    stamp = current
  }
  const refresh = async (): Promise<boolean> => {
    await reread()
    return settle()
  }
  const isDue = (): boolean => (keys[0]?.createdAtMs ?? -Infinity) + rotateAfterMs <= now()
  const add = async (others: readonly SigningKey[]): Promise<SigningKey> => {
    const key = await createKey(now())
    const next = withoutExpired([key, ...others], now())
    if (path === undefined) keys = next
    else await save(path, next, keys.length === 0 && stamp === undefined).then(reread)
    return key
  }
  const rotate = async ({ discardOthers = false } = {}): Promise<string> => {
    await reread()
    const { jwk } = await add(discardOthers ? [] : keys)
    settle()
    checkKept(keys, jwk, discardOthers)
    return jwk.kid
  }
  const rotateIfDue = (): Promise<boolean> => {
    rotation ??= reread()
      .then(() => (isDue() ? add(keys) : undefined))
      .then(settle)
      .finally(() => (rotation = undefined))
    return rotation
  }

  // A new key that cannot be written does not prevent the start while there are other keys.
  await rotateIfDue().catch((error: unknown) => {
    if (keys.length === 0) throw error
    settle()
  })
  return {
    rotateIfDue,
    rotate,
    refresh,
    current: () => requireKeys(list),
  }
}
