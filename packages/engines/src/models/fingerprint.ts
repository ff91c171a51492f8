import { createHash } from 'node:crypto'
import { createReadStream, readdirSync, realpathSync, statSync, type Stats } from 'node:fs'
import { join, relative, resolve, sep } from 'node:path'

/**
 * A text that differs after each change of a file below the folders: of its name, size, number or times. It reads no
 * contents, which can be large. A folder or file that disappears meanwhile counts as absent.
 */
export const fingerprintOf = (folders: readonly string[]): string => {
  const hash = createHash('sha256')
  for (const folder of folders) {
    for (const { path, stat } of filesIn(resolve(folder))) {
      hash.update(`${path}\0${stat.size} ${stat.ino} ${stat.mtimeMs} ${stat.ctimeMs}\0`)
    }
  }
  return hash.digest('hex')
}

/**
 * SHA-256 over the names and contents of all files of a folder, equal wherever its content is. Names that begin with
 * two dots are left out: Kubernetes keeps the files of a volume in a folder with such a name, another one for each
 * volume, and links to them. Rejects if a file cannot be read.
 */
export const digestOf = async (folder: string): Promise<string> => {
  const names = filesIn(resolve(folder)).map(({ path }) => relative(resolve(folder), path))
  const hash = createHash('sha256')
  for (const name of names.filter((path) => !path.split(sep).some((part) => part.startsWith('..'))).toSorted()) {
    hash.update(`${name}\0`)
    for await (const chunk of createReadStream(join(folder, name))) hash.update(chunk as Buffer)
    hash.update('\0')
  }
  return hash.digest('hex')
}

interface FoundFile {
  readonly path: string
  readonly stat: Stats
}

/** The files below a folder, in a stable order, where links lead to, too. What cannot be read is left out. */
const filesIn = (folder: string, above: readonly string[] = []): readonly FoundFile[] => {
  const found = readFolder(folder)
  // A link to a folder above it has no end.
  if (found === undefined || above.includes(found.realPath)) return []
  return found.names.flatMap((name) => {
    const path = join(folder, name)
    const stat = statOf(path)
    if (stat?.isDirectory() === true) return filesIn(path, [...above, found.realPath])
    return stat?.isFile() === true ? [{ path, stat }] : []
  })
}

const readFolder = (folder: string): { readonly realPath: string; readonly names: readonly string[] } | undefined => {
  try {
    return { realPath: realpathSync(folder), names: readdirSync(folder).toSorted() }
  } catch {
    return undefined
  }
}

const statOf = (path: string): Stats | undefined => {
  try {
    return statSync(path)
  } catch {
    return undefined
  }
}
