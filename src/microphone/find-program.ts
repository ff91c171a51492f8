import { accessSync, constants, statSync } from 'node:fs'
import { basename, delimiter, isAbsolute, join, resolve } from 'node:path'

/**
 * The absolute path of a program, by its name in PATH or by a path of its own; undefined if it does not exist. Windows
 * adds the extensions of PATHEXT.
 */
export const findProgram = (
  name: string,
  env: Readonly<Record<string, string | undefined>>,
  platform: NodeJS.Platform = process.platform,
): string | undefined => {
  const extensions = platform === 'win32' ? ['', ...(env['PATHEXT'] ?? '.exe;.com').toLowerCase().split(';')] : ['']
  const folders =
    basename(name) === name ? (env['PATH'] ?? env['Path'] ?? '').split(delimiter).filter(isAbsolute) : [resolve('.')]
  return folders
    .flatMap((folder) => extensions.map((extension) => (isAbsolute(name) ? name : join(folder, name)) + extension))
    .find(isProgram)
}

const isProgram = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}
