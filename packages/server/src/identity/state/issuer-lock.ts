import { existsSync } from 'node:fs'
import { chmod, open } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf, SpeechError } from 'rxspeech/internal/errors/speech-error'
import { loadSqlite, sqliteCodeOf, type Database } from './sqlite.js'
import { makePrivateFolder, ownerOnly, stateFileError } from './state-files.js'

/** In the state folder, next to the keys. */
export const issuerFileName = 'issuer.db'

/** The claims that all tokens signed with the keys of a state folder have in common. */
export interface TokenOrigin {
  readonly issuer: string
  readonly audience: string
}

/** How long to wait for a process that starts or ends at the same time, in milliseconds. */
const busyTimeoutMs = 1_000

/**
 * Makes all services of a state folder use the same issuer and audience. A running service holds a shared lock of
 * SQLite on `issuer.db`, which ends with the process in any case. Writing needs an exclusive lock, so only a service
 * that runs alone can change the values. Rejects with `invalid-options` if another running service has other values,
 * and with `missing-dependency`. Returns the function that releases the lock.
 */
export const lockIssuer = async (stateFolder: string, origin: TokenOrigin): Promise<() => void> => {
  const openSqlite = await loadSqlite()
  let database: Database | undefined
  try {
    await makePrivateFolder(stateFolder)
    const path = join(stateFolder, issuerFileName)
    await makeFile(path)
    const opened = openSqlite(path, busyTimeoutMs)
    database = opened
    // What another process writes before this one holds the lock is read once the lock is held.
    if (!isSameOrigin(hold(opened), origin)) {
      opened.exec('COMMIT')
      const isAlone = write(opened, origin)
      const stored = hold(opened)
      if (!isAlone || !isSameOrigin(stored, origin)) throw otherOrigin(stored, origin)
    }
    return () => opened.close()
  } catch (error) {
    database?.close()
    throw stateFileError(error, issuerFileName)
  }
}

/** Rejects as `lockIssuer` if there is a file that it could not read, and changes nothing. */
export const checkIssuer = async (stateFolder: string): Promise<void> => {
  const path = join(stateFolder, issuerFileName)
  if (!existsSync(path)) return
  const openSqlite = await loadSqlite()
  let database: Database | undefined
  try {
    database = openSqlite(path, busyTimeoutMs)
    hold(database)
  } catch (error) {
    throw stateFileError(error, issuerFileName)
  } finally {
    database?.close()
  }
}

/** Never closes a descriptor of an existing file: that would end the locks of this process on it (POSIX fcntl). */
const makeFile = async (path: string): Promise<void> => {
  const made = await open(path, 'wx', ownerOnly).catch((error: unknown) => {
    if (codeOf(error) === 'EEXIST') return undefined
    throw error
  })
  await made?.close()
  await chmod(path, ownerOnly)
}

/** Takes the shared lock by a transaction that reads and stays open. */
const hold = (database: Database): TokenOrigin | undefined => {
  database.exec('BEGIN')
  return hasTable(database) ? read(database) : undefined
}

const hasTable = (database: Database): boolean =>
  database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'origin'").get() !== undefined

const read = (database: Database): TokenOrigin | undefined =>
  database.prepare<[], TokenOrigin>('SELECT issuer, audience FROM origin').get()

/** Writes the origin; returns false where another process holds the file. */
const write = (database: Database, { issuer, audience }: TokenOrigin): boolean => {
  try {
    database.transaction('EXCLUSIVE', () => {
      database.exec('CREATE TABLE IF NOT EXISTS origin (issuer TEXT NOT NULL, audience TEXT NOT NULL) STRICT')
      database.exec('DELETE FROM origin')
      database.prepare('INSERT INTO origin VALUES (?, ?)').run(issuer, audience)
    })
    return true
  } catch (error) {
    if (sqliteCodeOf(error)?.startsWith('SQLITE_BUSY') === true) return false
    throw error
  }
}

const isSameOrigin = (stored: TokenOrigin | undefined, wanted: TokenOrigin): boolean =>
  stored?.issuer === wanted.issuer && stored.audience === wanted.audience

/** `invalid-options`: another running service of the state folder has another issuer or audience. */
export class OriginConflict extends SpeechError {}

const otherOrigin = (running: TokenOrigin | undefined, wanted: TokenOrigin): OriginConflict => {
  const key = running?.issuer === wanted.issuer ? 'audience' : 'issuer'
  const stored = running === undefined ? 'another one' : running[key]
  return new OriginConflict(
    'invalid-options',
    `A service that runs with this state folder has the ${key} ${stored}, and this one has ${wanted[key]}. Set the same identity.${key} for all of them; to change it, stop all of them first.`,
  )
}
