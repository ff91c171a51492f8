import { randomUUID } from 'node:crypto'
import { chmod, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { either } from 'fp-ts'
import { makePrivateFolder } from './private-folder.js'

const ownerOnly = 0o600

/**
 * Writes a file that only the owner may read, whole or not at all: a reader sees the old text or the new one, also
 * after a power cut. Missing folders are made with mode 0700.
 */
export const writePrivateFile = async (path: string, text: string): Promise<void> => {
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
    await rename(beside, path)
  } catch (error) {
    await rm(beside, { force: true })
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
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
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
