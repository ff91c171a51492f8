import { randomUUID } from 'node:crypto'
import { chmod, link, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { either } from 'fp-ts'
import { codeOf, isSpeechError, SpeechError } from 'rxspeech/internal/errors/speech-error'
import { sqliteCodeOf } from './sqlite.js'
import { checkStateFile, checkStateFolder } from './trusted-files.js'

/** The file mode of everything in the state folder. */
export const ownerOnly = 0o600

/** The file of client registrations and revoked tokens. */
export const storeFileName = 'identity.db'

/**
 * Creates a folder that only its owner can read, and its parents. Rejects with `invalid-options` if there is one that
 * others can write; see `checkStateFolder`.
 */
export const makePrivateFolder = async (folder: string): Promise<void> => {
  await makeFolder(folder, 0o700)
  await checkStateFolder(folder)
}

/**
 * Creates a folder and its parents. Rejects with `EEXIST` if it is a file. Node's own `recursive` option never returns
 * if the system reports every part of the path as missing, as below `/proc`; here each folder is tried at most twice.
 */
export const makeFolder = async (folder: string, mode?: number): Promise<void> => {
  try {
    await makeOne(folder, mode)
  } catch (error) {
    const parent = dirname(folder)
    if (codeOf(error) !== 'ENOENT' || parent === folder) throw error
    await makeFolder(parent, mode)
    await makeOne(folder, mode)
  }
}

const makeOne = async (folder: string, mode?: number): Promise<void> => {
  await mkdir(folder, { mode }).catch(async (error: unknown) => {
    if (codeOf(error) !== 'EEXIST' || !(await stat(folder)).isDirectory()) throw error
  })
}

/**
 * Writes a file that only its owner can read, atomically: a reader sees the old text or the new text, also after a
 * power failure. Creates missing folders with mode 0700. With `onlyIfAbsent`, the first of several concurrent writers
 * succeeds and the others change nothing.
 */
export const writePrivateFile = async (
  path: string,
  text: string,
  { onlyIfAbsent = false }: { readonly onlyIfAbsent?: boolean } = {},
): Promise<void> => {
  await makeFolder(dirname(path), 0o700)
  const temporary = `${path}.${randomUUID()}.new`
  try {
    const file = await open(temporary, 'wx', ownerOnly)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    if (onlyIfAbsent) await linkIfAbsent(temporary, path)
    else await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

/** Unlike a rename, a link never replaces a file. */
const linkIfAbsent = async (temporary: string, path: string): Promise<void> => {
  await link(temporary, path).catch((error: unknown) => {
    if (codeOf(error) !== 'EEXIST') throw error
  })
  await rm(temporary, { force: true })
}

/** A text that differs after each change of the file; undefined if there is no file. */
export const fileStamp = async (path: string): Promise<string | undefined> => {
  try {
    const { ino, mtimeMs, size } = await stat(path)
    return `${ino} ${mtimeMs} ${size}`
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/** How a private file is read. */
export interface ReadOptions {
  /** Whether nothing is changed, not even the permissions. @default false */
  readonly changesNothing?: boolean | undefined
}

/**
 * Reads a file of the state folder and removes the read permission of others; undefined if there is no file. Rejects
 * with `invalid-options` if others can write it.
 */
export const readPrivateFile = async (
  path: string,
  { changesNothing = false }: ReadOptions = {},
): Promise<string | undefined> => {
  try {
    await checkStateFile(path)
    const text = await readFile(path, 'utf8')
    if (!changesNothing) await chmod(path, ownerOnly)
    return text
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/** Reads a JSON file of the state folder, or `absent` if there is no file. Left: the text is not JSON. */
export const readPrivateJson = async (
  path: string,
  absent: unknown,
  options?: ReadOptions,
): Promise<either.Either<never[], unknown>> => {
  const text = await readPrivateFile(path, options)
  if (text === undefined) return either.right(absent)
  return either.tryCatch(
    () => JSON.parse(text) as unknown,
    () => [],
  )
}

/** The error for a damaged file. The service never replaces such a file, because it decides who can log in. */
export const damagedFile = (fileName: string, cause?: unknown): SpeechError =>
  new SpeechError('invalid-options', `${fileName} in the state folder is damaged; restore it from a copy.`, {
    cause,
  })

/** Turns an error of SQLite or of the file system into one that names the file; keeps a `SpeechError` as it is. */
export const stateFileError = (error: unknown, fileName: string): SpeechError => {
  if (isSpeechError(error)) return error
  const code = sqliteCodeOf(error) ?? ''
  if (/^SQLITE_(NOTADB|CORRUPT)/.test(code)) return damagedFile(fileName, error)
  if (/^SQLITE_(BUSY|LOCKED)/.test(code)) {
    return new SpeechError('overloaded', `Another process has been writing to ${fileName} for too long; try again.`, {
      cause: error,
    })
  }
  if (code === 'SQLITE_FULL' || code === 'ENOSPC' || code === 'EDQUOT') {
    return new SpeechError(
      'overloaded',
      `The disk of the state folder is full, so ${fileName} was not changed; free some space and try again.`,
      { cause: error },
    )
  }
  const reason = code === '' ? '' : ` (${code})`
  const sentence = `${fileName} in the state folder cannot be used${reason}; check its owner, its permissions and the disk.`
  return new SpeechError('invalid-options', sentence, { cause: error })
}
