import { either } from 'fp-ts'
import { readFileSync, realpathSync, statSync } from 'node:fs'
import { isAbsolute, relative, resolve, sep } from 'node:path'
import { maxResourceBytes } from './project-keys.js'

const isInside = (folder: string, path: string): boolean => {
  const way = relative(folder, path)
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

/**
 * Reads a file that a project names. It must lie in the project's own folder, also after symbolic links are followed, and
 * hold at most 10 MiB; left, what is wrong, as in "names x, which …".
 */
export const readResourceFile =
  (folder: string) =>
  (file: string): either.Either<string, Uint8Array> => {
    const named = `names ${JSON.stringify(file)}`
    const outside = either.left(`${named}, which is not inside the folder of the project`)
    if (isAbsolute(file) || !isInside(folder, resolve(folder, file))) return outside
    try {
      const path = realpathSync(resolve(folder, file))
      if (!isInside(realpathSync(folder), path)) return outside
      const { size } = statSync(path)
      if (size > maxResourceBytes) return either.left(`${named}, which is longer than ${maxResourceBytes} bytes`)
      return either.right(new Uint8Array(readFileSync(path)))
    } catch {
      return either.left(`${named}, which can't be read`)
    }
  }
