import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined)

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
