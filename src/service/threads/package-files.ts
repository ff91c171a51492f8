import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { SpeechError } from '../../errors/speech-error.js'

/** The command is in the second one (scripts/assemble-packages.mjs). */
const packageNames: readonly unknown[] = ['rxspeech', 'rxspeech-service']

const packageName = (folder: string): unknown => {
  try {
    return (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { name?: unknown }).name
  } catch {
    return undefined
  }
}

/**
 * The folder of the package of a file: the nearest one upwards from `folder` with a package.json of `rxspeech` or
 * `rxspeech-service`. It is the same from the sources and from the build. Throws `internal` if there is none.
 */
export const findPackageRoot = (folder: string): string => {
  if (packageNames.includes(packageName(folder))) return folder
  const parent = dirname(folder)
  if (parent === folder) throw new SpeechError('internal', 'The package.json of rxspeech was not found; reinstall it.')
  return findPackageRoot(parent)
}

/**
 * The compiled file of a worker thread or process, because neither can be started from TypeScript. Throws
 * `missing-dependency` if it is not built.
 *
 * @param path relative to the folder `service`, such as "engines/soundswallower/worker.js"
 * @param what names the worker in the error
 */
export const findWorkerFile = (path: string, what: string): string => {
  const file = join(findPackageRoot(__dirname), 'dist/cjs/service', path)
  if (existsSync(file)) return file
  throw new SpeechError('missing-dependency', `${what} is not built; run npm run build.`)
}
