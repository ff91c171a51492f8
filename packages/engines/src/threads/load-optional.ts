import { readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'

/**
 * Finds a package that may be missing, because it has native parts or is data. Throws `missing-dependency`.
 *
 * @param what the beginning of the error message: what needs the package.
 * @param from a file of the package that depends on it: `__filename`
 */
export const resolveOptional = (name: string, what: string, from: string): string =>
  orMissing(name, what, from, () => createRequire(from).resolve(name))

/**
 * Loads a package as `resolveOptional` finds it. Rejects with `missing-dependency`, also where the package does not
 * load.
 */
export const loadOptional = async <Module>(name: string, what: string, from: string): Promise<Module> => {
  const file = resolveOptional(name, what, from)
  try {
    return (await import(pathToFileURL(file).href)) as Module
  } catch (cause) {
    throw missing(name, what, from, cause)
  }
}

/** The same for a package that is called by `require`, at once. */
export const requireOptional = (name: string, what: string, from: string): unknown =>
  orMissing(name, what, from, () => createRequire(from)(name) as unknown)

const orMissing = <T>(name: string, what: string, from: string, find: () => T): T => {
  try {
    return find()
  } catch (cause) {
    throw missing(name, what, from, cause)
  }
}

const missing = (path: string, what: string, from: string, cause: unknown): SpeechError => {
  const name = /^(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? path
  return new SpeechError('missing-dependency', `${what} needs the package ${name}, ${reasonOf(name, from, cause)}`, {
    cause,
  })
}

/** A package of a folder that has it; undefined where it is not installed. */
const manifestOf = (
  name: string,
  from: NodeJS.Require,
): { readonly file: string; readonly parts: object } | undefined => {
  for (const folder of from.resolve.paths(name) ?? []) {
    const file = join(folder, name, 'package.json')
    try {
      const { optionalDependencies: parts = {} } = from(file) as { readonly optionalDependencies?: object }
      return { file, parts }
    } catch {
      // The next folder.
    }
  }
  return undefined
}

/**
 * Why a package cannot be used, and what to do: it is not installed, it is installed without its native part for this
 * system, or it does not load.
 */
const reasonOf = (name: string, dependent: string, cause: unknown): string => {
  const installed = manifestOf(name, createRequire(dependent))
  const again = 'npm install rxspeech-service --include=optional.'
  if (installed === undefined) return `which npm left out of rxspeech-service, as with --omit=optional: ${again}`
  const system = `${process.platform}-${process.arch}`
  const parts = Object.keys(installed.parts).filter((part) => part.includes(system.replace('win32', 'win')))
  const from = createRequire(installed.file)
  const found = parts.flatMap((part) => manifestOf(part, from) ?? [])
  if (parts.length > 0 && found.length === 0) {
    const left = 'which npm leaves out with --omit=optional, or with a package-lock.json of another system'
    return `which is installed without ${parts.join(' or ')}, ${left}: ${again}`
  }
  const [reason = ''] = (found.map(({ file }) => loadErrorOf(dirname(file))).find(Boolean) ?? String(cause)).split('\n')
  const isOther = parts.length === 0 && Object.keys(installed.parts).length > 0
  return `which does not load${isOther ? ` and may have no build for ${system}` : ''}: ${reason}`
}

/** The error of the native file of a folder, which some packages replace by one of their own. */
const loadErrorOf = (folder: string): string | undefined => {
  try {
    for (const name of readdirSync(folder)) if (name.endsWith('.node')) createRequire(__filename)(join(folder, name))
    return undefined
  } catch (error) {
    return String(error)
  }
}
