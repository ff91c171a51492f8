import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { SpeechError } from '../../errors/speech-error.js'

const packageName = (folder: string): unknown => {
  try {
    return (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { name?: unknown }).name
  } catch {
    return undefined
  }
}

/**
 * The folder of this package: the nearest one upwards from `folder` whose package.json is named rxspeech. It is the
 * same from the sources and from the build, so that both start the one built worker. Throws `internal` without one.
 */
export const findPackageRoot = (folder: string): string => {
  if (packageName(folder) === 'rxspeech') return folder
  const parent = dirname(folder)
  if (parent === folder) throw new SpeechError('internal', 'The package.json of rxspeech was not found; reinstall it.')
  return findPackageRoot(parent)
}
