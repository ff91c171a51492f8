import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { findPackageRoot } from 'rxspeech-engines/threads/package-files'

/** Which process of which machine this is: fields of every log line in JSON, of adverts, metrics and lists. */
export interface ProcessIdentity {
  readonly host: string
  /** Of this run alone; an engine process has it as its instance. */
  readonly process: string
  /** That of the package. */
  readonly version: string
}

let own: ProcessIdentity | undefined

/** The identity of this process, from its first use to its end. */
export const processIdentity = (): ProcessIdentity =>
  (own ??= { host: hostname(), process: randomBytes(8).toString('hex'), version: readVersion() })

/** From now on this process is a part of another one, whose identity it has. */
export const adoptIdentity = (identity: ProcessIdentity): void => {
  own = identity
}

const readVersion = (): string => {
  const manifest = readFileSync(join(findPackageRoot(__dirname), 'package.json'), 'utf8')
  return (JSON.parse(manifest) as { readonly version: string }).version
}
