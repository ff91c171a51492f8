import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'

const packageName = (folder: string): unknown => {
  try {
    return (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { name?: unknown }).name
  } catch {
    return undefined
  }
}

/**
 * The folder of the package of a file: the nearest one upwards from `folder` with a package.json of `rxspeech` or
 * `rxspeech-…`. It is the same from the sources and from the build. Throws `internal` if it is not found.
 */
export const findPackageRoot = (folder: string): string => {
  if (/^rxspeech(-|$)/.test(String(packageName(folder)))) return folder
  const parent = dirname(folder)
  if (parent === folder) throw new SpeechError('internal', 'The package.json of rxspeech was not found; reinstall it.')
  return findPackageRoot(parent)
}

/**
 * The compiled file of a worker thread or process, because neither can be started from TypeScript. Throws
 * `missing-dependency` if it is not built.
 *
 * @param folder a folder of the package of the worker: `__dirname`
 * @param path in the sources of that package, such as "soundswallower/worker.js"
 * @param what names the worker in the error
 */
export const findWorkerFile = (folder: string, path: string, what: string): string => {
  const file = join(findPackageRoot(folder), 'dist', path)
  if (existsSync(file)) return file
  throw new SpeechError('missing-dependency', `${what} is not built; run npm run build.`)
}
