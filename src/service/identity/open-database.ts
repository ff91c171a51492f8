import { chmod, open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Database } from 'better-sqlite3'
import { makePrivateFolder } from './private-folder.js'
import { loadSqlite } from './load-sqlite.js'
import { migrate } from './store-schema.js'
import { storeError, storeFileName } from './store-error.js'

const ownerOnly = 0o600

/** How long a writer waits for another process to have written, in milliseconds. A reader waits for nobody. */
const busyTimeoutMs = 5_000

/** SQLite gives the files beside it the rights of the file itself, so those of before are all there is to mend. */
const makePrivate = async (path: string): Promise<void> => {
  const file = await open(path, 'a', ownerOnly)
  await file.close()
  for (const beside of ['', '-wal', '-shm']) {
    await chmod(path + beside, ownerOnly).catch((error: unknown) => {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
    })
  }
}

/**
 * Opens `identity.db` of the state folder, makes it where it is missing. Each commit is on the disk when it returns, and
 * many processes may have it open. Rejects with `missing-dependency`, `invalid-options` or `overloaded`.
 */
export const openDatabase = async (stateFolder: string): Promise<Database> => {
  const openSqlite = await loadSqlite()
  let database: Database | undefined
  try {
    await makePrivateFolder(stateFolder)
    const path = join(stateFolder, storeFileName)
    await makePrivate(path)
    database = openSqlite(path, { timeout: busyTimeoutMs })
    database.pragma('journal_mode = WAL')
    database.pragma('synchronous = FULL')
    database.pragma('foreign_keys = ON')
    database.pragma('trusted_schema = OFF')
    migrate(database)
    return database
  } catch (error) {
    database?.close()
    throw storeError(error)
  }
}
