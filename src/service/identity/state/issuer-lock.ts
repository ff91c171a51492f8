import { chmod, open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Database } from 'better-sqlite3'
import { SpeechError } from '../../../errors/speech-error.js'
import { loadSqlite } from './database.js'
import { makePrivateFolder, storeError } from './state-files.js'

/** In the state folder, beside the keys. */
export const issuerFileName = 'issuer.db'

/** What stands in every token that the keys of a state folder sign, so that all processes of the folder agree on it. */
export interface TokenOrigin {
  readonly issuer: string
  readonly audience: string
}

const ownerOnly = 0o600

/** How long to wait for a process that ends or starts meanwhile, in milliseconds. */
const busyTimeoutMs = 1_000

/** No descriptor of a file that is there is ever closed here: that would end the locks of this process (POSIX fcntl). */
const makeFile = async (path: string): Promise<void> => {
  const made = await open(path, 'wx', ownerOnly).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return undefined
    throw error
  })
  await made?.close()
  await chmod(path, ownerOnly)
}

const read = (database: Database): TokenOrigin | undefined =>
  database.prepare<[], TokenOrigin>('SELECT issuer, audience FROM origin').get()

/** Writes where nobody else holds the file; false where somebody does. */
const write = (database: Database, { issuer, audience }: TokenOrigin): boolean => {
  try {
    database
      .transaction(() => {
        database.exec('CREATE TABLE IF NOT EXISTS origin (issuer TEXT NOT NULL, audience TEXT NOT NULL) STRICT')
        database.exec('DELETE FROM origin')
        database.prepare('INSERT INTO origin VALUES (?, ?)').run(issuer, audience)
      })
      .exclusive()
    return true
  } catch (error) {
    if (isBusy(error)) return false
    throw error
  }
}

const isBusy = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY')

const hasTable = (database: Database): boolean =>
  database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'origin'").get() !== undefined

const sameOrigin = (one: TokenOrigin | undefined, other: TokenOrigin): boolean =>
  one?.issuer === other.issuer && one.audience === other.audience

const otherOrigin = (running: TokenOrigin | undefined, wanted: TokenOrigin): SpeechError => {
  const key = running?.issuer === wanted.issuer ? 'audience' : 'issuer'
  const now = running === undefined ? 'another one' : running[key]
  return new SpeechError(
    'invalid-options',
    `A service that runs with this state folder has the ${key} ${now}, and this one has ${wanted[key]}. Give all of them the same identity.${key}; to change it, stop all of them first.`,
  )
}

/**
 * Agrees on issuer and audience with all services that run with the same state folder. As long as a service runs it holds
 * a shared lock of SQLite on `issuer.db`, which ends with the process however that ends; writing needs the file for
 * oneself, so a service that is alone may change what stands there. Rejects with `invalid-options` where another service
 * runs that says otherwise, and with `missing-dependency`. Gives what ends the lock.
 */
export const lockIssuer = async (stateFolder: string, origin: TokenOrigin): Promise<() => void> => {
  const openSqlite = await loadSqlite()
  let database: Database | undefined
  try {
    await makePrivateFolder(stateFolder)
    const path = join(stateFolder, issuerFileName)
    await makeFile(path)
    database = openSqlite(path, { timeout: busyTimeoutMs })
    const held = database
    // Whatever another process writes before the lock is held is seen once it is.
    if (!sameOrigin(hold(held), origin)) {
      held.exec('COMMIT')
      const isAlone = write(held, origin)
      const after = hold(held)
      if (!isAlone || !sameOrigin(after, origin)) throw otherOrigin(after, origin)
    }
    return () => held.close()
  } catch (error) {
    database?.close()
    throw storeError(error, issuerFileName)
  }
}

/** Begins to hold the shared lock, by a transaction that reads and does not end. */
const hold = (database: Database): TokenOrigin | undefined => {
  database.exec('BEGIN')
  return hasTable(database) ? read(database) : undefined
}
