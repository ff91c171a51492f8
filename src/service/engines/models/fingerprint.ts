import { createHash } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'

/**
 * A text that differs after each change of a file below the folders: of its name, size, number or times. It reads no
 * contents, which can be large. A folder or file that disappears meanwhile counts as absent.
 */
export const fingerprintOf = (folders: readonly string[]): string => {
  const hash = createHash('sha256')
  for (const folder of folders) {
    for (const path of filesIn(resolve(folder))) {
      const stat = statSync(path, { throwIfNoEntry: false })
      if (stat?.isFile() === true) hash.update(`${path}\0${stat.size} ${stat.ino} ${stat.mtimeMs} ${stat.ctimeMs}\0`)
    }
  }
  return hash.digest('hex')
}

const filesIn = (folder: string): readonly string[] => {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .map((path) => join(folder, path))
      .toSorted()
  } catch {
    return []
  }
}
