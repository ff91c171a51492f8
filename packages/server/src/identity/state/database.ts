import { existsSync } from 'node:fs'
import { chmod, open } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf, SpeechError } from 'rxspeech/internal/errors/speech-error'
import { loadSqlite, type Database } from './sqlite.js'
import { damagedFile, makePrivateFolder, ownerOnly, stateFileError, storeFileName } from './state-files.js'

/** How long a writer waits for the write of another process, in milliseconds. Readers do not wait. */
const busyTimeoutMs = 5_000

/**
 * Opens `identity.db` of the state folder, or creates it. Each commit is on the disk when it returns, and several
 * processes can have the file open. Rejects with `missing-dependency`, `invalid-options` or `overloaded`.
 */
export const openDatabase = async (stateFolder: string): Promise<Database> => {
  const openSqlite = await loadSqlite()
  let database: Database | undefined
  try {
    await makePrivateFolder(stateFolder)
    const path = join(stateFolder, storeFileName)
    await makePrivate(path)
    database = openSqlite(path, busyTimeoutMs)
    database.exec('PRAGMA journal_mode = WAL')
    database.exec('PRAGMA synchronous = FULL')
    database.exec('PRAGMA foreign_keys = ON')
    database.exec('PRAGMA trusted_schema = OFF')
    migrate(database)
    return database
  } catch (error) {
    database?.close()
    throw stateFileError(error, storeFileName)
  }
}

/** Rejects as `openDatabase` if there is a file that it would refuse, and changes nothing. */
export const checkDatabase = async (stateFolder: string): Promise<void> => {
  const path = join(stateFolder, storeFileName)
  if (!existsSync(path)) return
  const openSqlite = await loadSqlite()
  let database: Database | undefined
  try {
    const opened = openSqlite(path, busyTimeoutMs)
    database = opened
    // The lock of a writer shows that the file can be written.
    opened.transaction('IMMEDIATE', () => readVersion(opened))
    checkPages(opened)
  } catch (error) {
    throw stateFileError(error, storeFileName)
  } finally {
    database?.close()
  }
}

/** SQLite creates its other files with the mode of the main file, so only files of an earlier run need a change. */
const makePrivate = async (path: string): Promise<void> => {
  const file = await open(path, 'a', ownerOnly)
  await file.close()
  for (const suffix of ['', '-wal', '-shm']) {
    await chmod(path + suffix, ownerOnly).catch((error: unknown) => {
      if (codeOf(error) !== 'ENOENT') throw error
    })
  }
}

/** `rxsp`: marks the file as one of this package. */
const applicationId = 0x72_78_73_70

/**
 * The statements that migrate each version of the schema to the next; the first ones start from an empty file. Never
 * change released statements: add a version. Times are milliseconds since 1970; a NULL end means never.
 */
const migrations: readonly string[] = [
  `
  CREATE TABLE subscriptions (
    client_id TEXT PRIMARY KEY,
    secret_hash TEXT NOT NULL,
    previous_hash TEXT,
    previous_until_ms INTEGER,
    valid_from_ms INTEGER NOT NULL,
    valid_until_ms INTEGER,
    may_introspect INTEGER NOT NULL CHECK (may_introspect IN (0, 1)),
    created_at_ms INTEGER NOT NULL,
    cancelled_at_ms INTEGER,
    CHECK ((previous_hash IS NULL) = (previous_until_ms IS NULL))
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE grants (
    client_id TEXT NOT NULL REFERENCES subscriptions (client_id) ON DELETE CASCADE,
    kind TEXT NOT NULL CHECK (kind IN ('tenant', 'project', 'model')),
    name TEXT NOT NULL,
    PRIMARY KEY (client_id, kind, name)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE revoked_tokens (
    token_id TEXT PRIMARY KEY,
    until_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX revoked_tokens_until ON revoked_tokens (until_ms);
  `,
  // NULL is the longest.
  'ALTER TABLE subscriptions ADD COLUMN token_lifetime_s INTEGER CHECK (token_lifetime_s > 0)',
]

const schemaVersion = migrations.length

/**
 * Brings the file to the current schema, completely or not at all; a second process that does the same waits and finds
 * the work done. Throws `invalid-options` for the file of another program, of a newer version, and for a damaged file.
 */
const migrate = (database: Database): void => {
  database.transaction('IMMEDIATE', () => {
    const version = readVersion(database)
    if (version === schemaVersion) return
    for (const statements of migrations.slice(version)) database.exec(statements)
    database.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${schemaVersion}`)
  })
  checkPages(database)
}

const checkPages = (database: Database): void => {
  if (database.pragma('quick_check(1)') !== 'ok') throw damagedFile(storeFileName)
}

const pragma = (database: Database, name: string): number => Number(database.pragma(name))

/** The version of the schema. Throws `invalid-options` for a file of another program or a newer version. */
const readVersion = (database: Database): number => {
  const version = pragma(database, 'user_version')
  const isEmpty = database.prepare('SELECT 1 FROM sqlite_schema').get() === undefined
  if (!isEmpty && pragma(database, 'application_id') !== applicationId) {
    throw new SpeechError(
      'invalid-options',
      `${storeFileName} in the state folder belongs to another program; move it.`,
    )
  }
  if (version > schemaVersion) {
    throw new SpeechError(
      'invalid-options',
      `${storeFileName} was written by a newer rxspeech (schema ${version}, here ${schemaVersion}); install that one.`,
    )
  }
  return version
}
