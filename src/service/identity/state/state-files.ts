import { randomUUID } from 'node:crypto'
import { chmod, link, open, readFile, rename, rm, stat, mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { either } from 'fp-ts'
import { isSpeechError, SpeechError } from '../../../errors/speech-error.js'

const ownerOnly = 0o600

/**
 * Writes a file that only the owner may read, whole or not at all: a reader sees the old text or the new one, also
 * after a power cut. Missing folders are made with mode 0700. `onlyIfAbsent`: of several who write at once the first
 * wins, and the others change nothing.
 */
export const writePrivateFile = async (
  path: string,
  text: string,
  { onlyIfAbsent = false }: { readonly onlyIfAbsent?: boolean } = {},
): Promise<void> => {
  await makePrivateFolder(dirname(path))
  const beside = `${path}.${randomUUID()}.new`
  try {
    const file = await open(beside, 'wx', ownerOnly)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    if (onlyIfAbsent) await linkIfAbsent(beside, path)
    else await rename(beside, path)
  } catch (error) {
    await rm(beside, { force: true })
    throw error
  }
}

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined)

/** A link, other than a rename, takes the place of nothing. */
const linkIfAbsent = async (beside: string, path: string): Promise<void> => {
  await link(beside, path).catch((error: unknown) => {
    if (codeOf(error) !== 'EEXIST') throw error
  })
  await rm(beside, { force: true })
}

/** Another text whenever the file has become another; undefined where there is none. */
export const fileStamp = async (path: string): Promise<string | undefined> => {
  try {
    const { ino, mtimeMs, size } = await stat(path)
    return `${ino} ${mtimeMs} ${size}`
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/** The text of a file of this service, or `undefined` when there is none. Takes away what others could read. */
export const readPrivateFile = async (path: string): Promise<string | undefined> => {
  try {
    const text = await readFile(path, 'utf8')
    await chmod(path, ownerOnly)
    return text
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/** The JSON of such a file, the value that is given when there is none; a left when it is not JSON. */
export const readPrivateJson = async (path: string, absent: unknown): Promise<either.Either<never[], unknown>> => {
  const text = await readPrivateFile(path)
  if (text === undefined) return either.right(absent)
  return either.tryCatch(
    () => JSON.parse(text) as unknown,
    () => [],
  )
}

const makeOne = async (folder: string): Promise<void> => {
  await mkdir(folder, { mode: 0o700 }).catch((error: unknown) => {
    if (codeOf(error) !== 'EEXIST') throw error
  })
}

/**
 * Makes a folder that only its owner reads, and those above it. Node's own `recursive` never ends where the system says
 * of every part that it is missing, as below `/proc`; here each is tried twice at most.
 */
export const makePrivateFolder = async (folder: string): Promise<void> => {
  try {
    await makeOne(folder)
  } catch (error) {
    const parent = dirname(folder)
    if (codeOf(error) !== 'ENOENT' || parent === folder) throw error
    await makePrivateFolder(parent)
    await makeOne(folder)
  }
}

export const storeFileName = 'identity.db'

const sqliteCode = (error: unknown): string => {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : ''
}

/** A file that holds something else than it should; nobody but a person may replace it, for it decides who is let in. */
export const damaged = (cause?: unknown, fileName = storeFileName): SpeechError =>
  new SpeechError('invalid-options', `${fileName} in the state folder is damaged; restore it from a copy.`, {
    cause,
  })

/** Nothing is half written then: what was there before is there still. */
export const diskFull = (fileName: string, cause: unknown): SpeechError =>
  new SpeechError(
    'overloaded',
    `The disk of the state folder is full, so ${fileName} was not changed; free some space and try again.`,
    { cause },
  )

/** What SQLite says, in words that name the file; errors of our own stay as they are. */
export const storeError = (error: unknown, fileName = storeFileName): SpeechError => {
  if (isSpeechError(error)) return error
  const code = sqliteCode(error)
  if (/^SQLITE_(NOTADB|CORRUPT)/.test(code)) return damaged(error, fileName)
  if (/^SQLITE_(BUSY|LOCKED)/.test(code)) {
    return new SpeechError('overloaded', `Another process has been writing to ${fileName} for too long; try again.`, {
      cause: error,
    })
  }
  const why = code === '' ? '' : ` (${code})`
  if (code === 'SQLITE_FULL' || code === 'ENOSPC' || code === 'EDQUOT') return diskFull(fileName, error)
  const sentence = `${fileName} in the state folder cannot be used${why}; check its owner, its rights and the disk.`
  return new SpeechError('invalid-options', sentence, { cause: error })
}
