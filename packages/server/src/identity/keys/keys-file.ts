import { readFile, stat } from 'node:fs/promises'
import { either } from 'fp-ts'
import { codeOf, SpeechError } from 'rxspeech/internal/errors/speech-error'
import { fileStamp, writePrivateFile } from '../state/state-files.js'
import { checkFileOwner } from '../state/trusted-files.js'
import {
  createKey,
  decodeKeys,
  encodeKeys,
  hasSameKeys,
  isKeyPair,
  signingFirst,
  withoutExpired,
  type SigningKey,
  type SigningKeyList,
} from './key-list.js'
import type { SigningKeys } from './signing-keys.js'

/** Where the keys of several machines are. */
export interface KeysFileOptions {
  /** The path of the file; a link to it is followed, as those of secrets that Kubernetes mounts. */
  readonly path: string
  readonly now: () => number
}

/**
 * The signing keys of a file that others write, such as a secret that all machines of a service mount. It has the form
 * of `signing-keys.json`, and is only read: again when it changes. A changed file that cannot be used leaves the keys
 * as they were. Rejects with `invalid-options` when the file cannot be read, is open to others, or has no usable key.
 */
export const openKeysFile = async ({ path, now }: KeysFileOptions): Promise<SigningKeys> => {
  let stamp: string | undefined
  let keys: readonly SigningKey[] = []
  let list: SigningKeyList | undefined

  const refresh = async (): Promise<boolean> => {
    const current = await fileStamp(path)
    if (current === undefined || current !== stamp) {
      keys = await readKeysFile(path)
      stamp = current
    }
    const next = signingFirst(keys, now()) as SigningKeyList
    if (list !== undefined && hasSameKeys(list, next)) return false
    list = next
    return true
  }

  await refresh()
  return {
    current: () => {
      if (list === undefined) throw new SpeechError('internal', 'There is no signing key; start the service again.')
      return list
    },
    refresh,
    // Only the command creates keys of such a file.
    rotateIfDue: refresh,
  }
}

/** The keys of the file, the newest first; at least one. Rejects with `invalid-options`. */
const readKeysFile = async (path: string): Promise<readonly SigningKey[]> => {
  await checkPermissions(path)
  const keys = await parseKeysFile(path)
  if (keys.length === 0) throw unusable(path, 'has no key; create one with: rxspeech keys rotate --file')
  return keys
}

/** Read and write permission for all other users, and write permission for the group. */
const openToOthers = 0o027

const checkPermissions = async (path: string): Promise<void> => {
  const file = await stat(path).catch((error: unknown) => {
    throw unreadable(path, error)
  })
  if (!file.isFile()) throw unusable(path, 'is not a file')
  await checkFileOwner(path)
  if (process.platform === 'win32' || (file.mode & openToOthers) === 0) return
  const mode = (file.mode & 0o777).toString(8)
  throw unusable(
    path,
    `has the mode ${mode}: other users can read or write it; set 0400, or 0440 for a group of its own`,
  )
}

const parseKeysFile = async (path: string): Promise<readonly SigningKey[]> => {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw unreadable(path, error)
  })
  const keys = decodeKeys(
    either.tryCatch(
      () => JSON.parse(text) as unknown,
      () => undefined,
    ),
  )
  if (either.isLeft(keys)) throw unusable(path, 'is not a file of signing keys; restore it from a copy')
  const damaged = keys.right.find((key) => !isKeyPair(key))
  if (damaged !== undefined) throw unusable(path, `has a damaged key, ${damaged.jwk.kid}; restore it from a copy`)
  const ids = keys.right.map(({ jwk }) => jwk.kid)
  const repeated = ids.find((kid, index) => ids.indexOf(kid) !== index)
  if (repeated !== undefined) throw unusable(path, `has the key ${repeated} twice; remove one of both`)
  return keys.right.toSorted((a, b) => b.createdAtMs - a.createdAtMs)
}

const unusable = (path: string, what: string): SpeechError =>
  new SpeechError('invalid-options', `The file of signing keys ${path} ${what}.`)

const unreadable = (path: string, error: unknown): SpeechError => {
  const code = codeOf(error)
  if (code === 'ENOENT') return unusable(path, 'does not exist; create it with: rxspeech keys rotate --file')
  return unusable(path, `cannot be read (${code ?? 'unknown'}); check its owner and its permissions`)
}

/** What became of a file of keys. */
export interface KeysFileRotation {
  readonly kid: string
  /** Whether there was no file. */
  readonly isNew: boolean
}

/**
 * Adds a new key to the file, or creates the file, with permissions for its owner only. The key signs 10 minutes later,
 * by when all machines have to have the file. With `discardOthers` it is the only one, and signs at once. Rejects with
 * `invalid-options` when the file cannot be used.
 */
export const rotateKeysFile = async (
  { path, now }: KeysFileOptions,
  { discardOthers = false }: { readonly discardOthers?: boolean } = {},
): Promise<KeysFileRotation> => {
  const isNew = (await fileStamp(path)) === undefined
  const others = isNew ? [] : await parseKeysFile(path)
  const key = await createKey(now())
  const keys = withoutExpired([key, ...(discardOthers ? [] : others)], now())
  await writePrivateFile(path, encodeKeys(keys), { onlyIfAbsent: isNew }).catch((error: unknown) => {
    throw unusable(
      path,
      `cannot be written (${codeOf(error) ?? 'unknown'}); check its owner, its permissions and the disk`,
    )
  })
  const kept = await parseKeysFile(path)
  if (kept.some(({ jwk }) => jwk.kid === key.jwk.kid)) return { kid: key.jwk.kid, isNew }
  throw new SpeechError('overloaded', 'Another process created a signing key at the same time; try again.')
}
