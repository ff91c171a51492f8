// A user who can write to the state folder decides who can log in: what others can write is refused (docs/SECURITY.md).
import type { Stats } from 'node:fs'
import { lstat, readdir, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { codeOf, SpeechError } from 'rxspeech/internal/errors/speech-error'

const writableByAll = 0o002
const writableByGroup = 0o020
/** Set on folders that are shared with their group on purpose, as the volumes of Kubernetes with `fsGroup`. */
const setGroupId = 0o2000

/** What a service and its commands keep in the state folder; other files there are left alone. */
const ownNames = /^(control|certificates)$|\.(json|db|pem)$|\.db-\w+$/

/** Undefined on Windows, whose files have no such owners. */
const ownId = (): number | undefined => process.geteuid?.()

const untrusted = (path: string, what: string): SpeechError => new SpeechError('invalid-options', `${path} ${what}.`)

/** Throws `invalid-options` if another user owns the file or can write it. */
const checkOwner = (path: string, { uid, mode }: Stats, isSharedWithGroup: boolean): void => {
  if (uid !== ownId() && uid !== 0) {
    throw untrusted(path, `belongs to another user (${uid}); run this as that user, or use another state folder`)
  }
  if ((mode & writableByAll) !== 0) {
    throw untrusted(path, 'can be written by every user; check what is there, then change its mode: chmod go-w')
  }
  if ((mode & writableByGroup) !== 0 && !isSharedWithGroup) {
    throw untrusted(path, 'can be written by its group; check what is there, then change its mode: chmod g-w')
  }
}

const isGroupFolder = ({ mode }: Stats): boolean => (mode & setGroupId) !== 0

/** Follows a link of root, such as that of systemd with `DynamicUser`; a process of root must name the folder. */
const followFolder = async (path: string): Promise<Stats> => {
  const own = await lstat(path)
  if (!own.isSymbolicLink()) return own
  if (own.uid === 0 && ownId() !== 0) return stat(path)
  throw untrusted(path, 'is a link; name the folder that it leads to')
}

const checkEntry = async (path: string, isSharedWithGroup: boolean): Promise<void> => {
  const found = await lstat(path).catch((error: unknown) => {
    // Files of SQLite come and go.
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  })
  if (found?.isSymbolicLink() === true) throw untrusted(path, 'is a link; replace it by what it leads to')
  if (found !== undefined) checkOwner(path, found, isSharedWithGroup || (found.isDirectory() && isGroupFolder(found)))
}

/**
 * Checks that no other user can write an existing state folder and what is kept in it: each has to belong to this user
 * or to root, must not be a link, and must not be writable by other users. A group may write where the folder has the
 * set-group-ID bit. Rejects with `invalid-options`.
 */
export const checkStateFolder = async (folder: string): Promise<void> => {
  if (ownId() === undefined) return
  const path = resolve(folder)
  const stats = await followFolder(path)
  const isShared = isGroupFolder(stats)
  checkOwner(path, stats, isShared)
  const names = await readdir(path)
  await Promise.all(names.filter((name) => ownNames.test(name)).map((name) => checkEntry(join(path, name), isShared)))
}

/** The same for one file in such a folder, which may be absent. */
export const checkStateFile = async (path: string): Promise<void> => {
  if (ownId() === undefined) return
  const folder = await followFolder(resolve(dirname(path)))
  checkOwner(dirname(path), folder, isGroupFolder(folder))
  await checkEntry(path, isGroupFolder(folder))
}

/** Checks that root or this user owns a file and the link to it. Rejects with `invalid-options`. */
export const checkFileOwner = async (path: string): Promise<void> => {
  if (ownId() === undefined) return
  for (const { uid } of [await lstat(path), await stat(path)]) {
    if (uid !== ownId() && uid !== 0) throw untrusted(path, `belongs to another user (${uid}); change its owner`)
  }
}
