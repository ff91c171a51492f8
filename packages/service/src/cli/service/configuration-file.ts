import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { either } from 'fp-ts'
import type { ConfigurationFault } from '../../configuration/read-configuration.js'
import type { SecretSource } from '../../configuration/settings.js'
import { decodeText } from 'rxspeech-engines/models/decode-text'
import { exitCode, SilentExit, usageError } from '../process/failure.js'
import type { Host } from '../process/host.js'

/** A configuration file, checked. */
export interface LoadedConfiguration<Values> {
  readonly file: string
  readonly values: Values
  /** The absolute path; relative ones begin at the folder of the file. */
  readonly path: (path: string) => string
}

/** Reads the text of a file of one kind. */
type Read<Values> = (source: string) => Promise<either.Either<readonly ConfigurationFault[], Values>>

/**
 * Reads the file. If it has faults, writes a line `FILE:LINE:COLUMN: key: sentence` for each and ends the
 * command. Rejects with `invalid-options` or `missing-dependency`.
 *
 * @param what the name of the flag that names it, for errors; empty for a file that has its place
 */
export const readConfigurationFile = async <Values>(
  file: string,
  read: Read<Values>,
  host: Pick<Host, 'stderr'>,
  what = '--config',
): Promise<LoadedConfiguration<Values>> => {
  const values = await read(readFileText(what, file))
  if (either.isRight(values)) {
    const folder = dirname(resolve(file))
    return { file, values: values.right, path: (path) => resolve(folder, path) }
  }
  for (const { line, column, key, sentence } of values.left) {
    host.stderr.write(`${file}:${line}:${column}: ${key === '' ? '' : `${key}: `}${sentence}\n`)
  }
  const faults = values.left.length === 1 ? 'a fault' : `${values.left.length} faults`
  host.stderr.write(`rxspeech: ${file} has ${faults}; nothing was started.\n`)
  throw new SilentExit(exitCode.usage)
}

/** @param what begins the sentence of the error, such as the name of a flag; empty for the file itself */
export const readFileText = (what: string, file: string): string => {
  const named = what === '' ? file : `${what} names ${file}, which`
  let content: string | undefined
  try {
    content = decodeText(readFileSync(file))
  } catch (error) {
    throw usageError(`${named} cannot be read; check the path and its rights.`, error)
  }
  if (content === undefined) throw usageError(`${named} is not text in UTF-8; save it as UTF-8.`)
  return content
}

/** The secret itself. Throws `invalid-options` that says where it is missing. */
export const readSecret = (
  source: SecretSource,
  { file, path }: Pick<LoadedConfiguration<unknown>, 'file' | 'path'>,
  { env, minLength }: { readonly env: Host['env']; readonly minLength: number },
): string => {
  const where = 'env' in source ? `the variable ${source.env}` : `the file ${source.file}`
  const secret = 'env' in source ? (env[source.env] ?? '') : readFileText(`${file}: a secret`, path(source.file)).trim()
  if (secret.length < minLength) {
    throw usageError(`${file}: ${where} must contain a secret of at least ${minLength} characters.`)
  }
  return secret
}
