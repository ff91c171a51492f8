import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findPackageRoot } from '../../service/threads/package-files.js'

/** A file of `rxspeech-service`, which the command is a part of, or of a checkout. */
const packagePath = (...path: readonly string[]): string => join(findPackageRoot(__dirname), ...path)

/** The models that come with the package. */
export const sampleModels = (): string => packagePath('samples/models')

/** The model that recognizes the call that comes with the package. */
export const sampleModel = (): string => join(sampleModels(), 'Default/call/1')

/** The telephone call that comes with the package. */
export const sampleCall = (): string => packagePath('samples/call.wav')

/** The built page that shows sessions. */
export const studioFolder = (): string => packagePath('dist/studio')

/** The part of package.json that the command shows or checks. */
export interface PackageManifest {
  readonly name: string
  readonly version: string
  readonly engines?: { readonly node?: string }
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

export const packageManifest = (): PackageManifest =>
  JSON.parse(readFileSync(packagePath('package.json'), 'utf8')) as PackageManifest

export const packageVersion = (): string => packageManifest().version
