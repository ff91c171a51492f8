import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { findServicePackage } from '../../service/threads/load-optional.js'
import { findPackageRoot } from '../../service/threads/package-files.js'

const packagePath = (...path: readonly string[]): string => join(findPackageRoot(__dirname), ...path)

/** `rxspeech-service` has them, and the root of a checkout. */
const samplePath = (name: string): string => {
  const service = findServicePackage()
  return service === undefined ? packagePath('samples', name) : join(dirname(service), 'samples', name)
}

/** The models that come with the package. */
export const sampleModels = (): string => samplePath('models')

/** The telephone call that comes with the package. */
export const sampleCall = (): string => samplePath('call.wav')

/** The built page that shows sessions; `rxspeech-service` has it, and the build of a checkout. */
export const studioFolder = (): string => {
  const service = findServicePackage()
  return service === undefined ? packagePath('dist/studio') : join(dirname(service), 'dist/studio')
}

export const packageVersion = (): string => {
  const manifest = JSON.parse(readFileSync(packagePath('package.json'), 'utf8')) as { readonly version: string }
  return manifest.version
}
