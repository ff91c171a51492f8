import { either } from 'fp-ts'
import { readFileSync, realpathSync, statSync } from 'node:fs'
import { isAbsolute, relative, resolve, sep } from 'node:path'
import type { AnyNodeDefinition, ModelName } from '../../nodes/core/node.js'
import { maxResourceBytes } from '../format/project-keys.js'

/** The environment against which a project is checked. */
export interface ProjectFacts {
  /** All kinds of nodes. */
  readonly nodes: readonly AnyNodeDefinition[]
  /** Whether a model exists; undefined if that is not known. */
  readonly hasModel?: ((model: ModelName) => boolean) | undefined
  /** Reads a file in the folder of the project; left is its fault, which completes "resources.x.file …". */
  readonly readFile: (file: string) => either.Either<string, Uint8Array>
  readonly secret: (env: string) => string | undefined
  /** Whether the operator keeps recordings; undefined if that is not known. */
  readonly recordings?: boolean | undefined
  /** The version according to the path of the file. */
  readonly versionOfFile?: string | undefined
  /** The name according to the path of the file. */
  readonly nameOfFile?: string | undefined
  /**
   * Whether the project is checked by the service that runs it. Elsewhere a secret that is not set, or a file in the
   * wrong folder, is a warning.
   */
  readonly isHere: boolean
}

/**
 * Reads the resource files of a project. They must lie in the project's own folder, also after symbolic links are
 * followed, and have at most 10 MiB. Left is the fault, as in "names x, which …".
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
      return either.left(`${named}, which cannot be read`)
    }
  }

const isInside = (folder: string, path: string): boolean => {
  const way = relative(folder, path)
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}
