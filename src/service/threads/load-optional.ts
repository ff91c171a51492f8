import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { SpeechError } from '../../errors/speech-error.js'

/**
 * Finds a package that only the service or the command needs: from the package `rxspeech-service`, which depends on it, so that
 * its version is found wherever npm installed it; in a checkout, from here. Throws `missing-dependency`.
 *
 * @param what the beginning of the error message: what needs the package.
 */
export const resolveOptional = (name: string, what: string): string =>
  orMissing(name, what, () => createRequire(findServicePackage() ?? __filename).resolve(name))

/** Loads a package as `resolveOptional` finds it. Rejects with `missing-dependency`, also where the package does not load. */
export const loadOptional = async <Module>(name: string, what: string): Promise<Module> => {
  const file = resolveOptional(name, what)
  try {
    return (await import(pathToFileURL(file).href)) as Module
  } catch (cause) {
    throw missing(name, what, cause)
  }
}

/** The same for a package that is called by `require`, at once. */
export const requireOptional = (name: string, what: string): unknown =>
  orMissing(name, what, () => createRequire(findServicePackage() ?? __filename)(name) as unknown)

/** The error for a package that is absent, or without a part that it needs. */
export const missing = (name: string, what: string, cause: unknown): SpeechError =>
  new SpeechError(
    'missing-dependency',
    `${what} needs the package ${/^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name}, which comes with another: npm install rxspeech-service.`,
    { cause },
  )

/** The package.json of `rxspeech-service`; undefined where it is not installed, as in a checkout. */
export const findServicePackage = (): string | undefined => {
  try {
    return createRequire(__filename).resolve('rxspeech-service/package.json')
  } catch {
    return undefined
  }
}

const orMissing = <T>(name: string, what: string, find: () => T): T => {
  try {
    return find()
  } catch (cause) {
    throw missing(name, what, cause)
  }
}
