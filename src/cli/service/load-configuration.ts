import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { either } from 'fp-ts'
import { readConfiguration, type ConfigurationFault } from '../../service/configuration/read-configuration.js'
import type { ServiceConfiguration } from '../../service/configuration/service-configuration.js'
import type { SecretSource } from '../../service/configuration/settings.js'
import { usageError } from '../process/failure.js'

/** A configuration file, checked: what it says, and where its paths begin. */
export interface LoadedConfiguration {
  readonly file: string
  readonly values: ServiceConfiguration
  /** The path as the process needs it; relative ones begin at the file. */
  readonly path: (written: string) => string
}

/** A file with faults; each is a line `FILE:LINE:COLUMN: key: sentence`. */
export class ConfigurationFaults extends Error {
  override readonly name = 'ConfigurationFaults'
  readonly lines: readonly string[]

  constructor(file: string, faults: readonly ConfigurationFault[]) {
    super(`${file} has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}; nothing was started.`)
    this.lines = faults.map(
      ({ line, column, key, sentence }) => `${file}:${line}:${column}: ${key === '' ? '' : `${key}: `}${sentence}`,
    )
  }
}

/** Reads and checks the file. Rejects with `ConfigurationFaults`, `invalid-options` or `missing-dependency`. */
export const loadConfiguration = async (file: string): Promise<LoadedConfiguration> => {
  const read = await readConfiguration(readText('--config', file))
  if (either.isLeft(read)) throw new ConfigurationFaults(file, read.left)
  const folder = dirname(resolve(file))
  return { file, values: read.right, path: (written) => resolve(folder, written) }
}

const readText = (what: string, file: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw usageError(`${what} names ${file}, which cannot be read; check the path and its rights.`, error)
  }
}

/** The secret itself. Throws `invalid-options` that names where it was to stand. */
export const revealSecret = (
  source: SecretSource,
  { file, path }: LoadedConfiguration,
  env: Readonly<Record<string, string | undefined>>,
): string => {
  const where = 'env' in source ? `the variable ${source.env}` : `the file ${source.file}`
  const secret = 'env' in source ? (env[source.env] ?? '') : readText(`${file}: a secret`, path(source.file)).trim()
  if (secret.length < shortestSecret) {
    throw usageError(`${file}: a secret of at least ${shortestSecret} characters must stand in ${where}.`)
  }
  return secret
}

/** A secret that is shorter can be guessed. */
const shortestSecret = 16
