import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { SpeechError } from '../../errors/speech-error.js'
import { resolveOptional } from '../../service/threads/load-optional.js'
import { findPackageRoot } from '../../service/threads/package-files.js'

/** A file of `rxspeech-service`, which the command is a part of, or of a checkout. */
const packagePath = (...path: readonly string[]): string => join(findPackageRoot(__dirname), ...path)

/** The model that recognizes any speech without configuration, and the package that has its data. */
export const embeddedModel = { tenant: 'Default', name: 'English', package: 'rxspeech-whisper-tiny-en' } as const

/** The folder of models with the embedded one; undefined where its package is not installed. */
const embeddedModels = (): string | undefined => {
  try {
    return join(dirname(resolveOptional(`${embeddedModel.package}/package.json`, 'The model')), 'models')
  } catch {
    return undefined
  }
}

/** The error for what needs the embedded model; undefined where its package is installed. */
export const missingEmbeddedModel = (): SpeechError | undefined =>
  embeddedModels() === undefined
    ? new SpeechError(
        'missing-dependency',
        `The model ${embeddedModel.name}, which reads any English speech, is not installed: npm install ${embeddedModel.package}.`,
      )
    : undefined

const sampleModels = (): string => packagePath('samples/models')

/** The folders of models that are there without configuration: that of the embedded one, if it is installed, and the samples. */
export const packageModels = (): readonly string[] =>
  [embeddedModels(), sampleModels()].filter((folder) => folder !== undefined)

/** The model of the sentences of the call that comes with the package. */
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
