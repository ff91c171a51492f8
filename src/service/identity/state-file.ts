import { randomUUID } from 'node:crypto'
import { chmod, link, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { either } from 'fp-ts'
import { makePrivateFolder } from './private-folder.js'

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
