import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findPackageRoot } from '../../service/engine/package-root.js'

const inPackage = (...path: readonly string[]): string => join(findPackageRoot(__dirname), ...path)

/** The models that come with the package. */
export const sampleModels = (): string => inPackage('samples', 'models')

/** The telephone call that comes with the package. */
export const sampleCall = (): string => inPackage('samples', 'call.wav')

export const packageVersion = (): string => {
  const manifest = JSON.parse(readFileSync(inPackage('package.json'), 'utf8')) as { readonly version: string }
  return manifest.version
}
