import type { Database } from 'better-sqlite3'
import { SpeechError } from '../../errors/speech-error.js'
import { damaged, storeFileName } from './store-error.js'

/** `rxsp`: marks the file as one of ours. */
const applicationId = 0x72_78_73_70

/**
 * What leads from each version of the schema to the next; the first to an empty file. Never change one that was released:
 * add another. Times are milliseconds since 1970; an absent end is never.
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
]

export const schemaVersion = migrations.length

const pragma = (database: Database, name: string): number => Number(database.pragma(name, { simple: true }))

const checkOrigin = (database: Database, version: number): void => {
  const tables = database.prepare<[], number>('SELECT count(*) FROM sqlite_schema').pluck().get() ?? 0
  if (tables > 0 && pragma(database, 'application_id') !== applicationId) {
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
}

/**
 * Brings the file to this version's schema, whole or not at all; a second process that tries the same waits and finds it
 * done. Throws `invalid-options` for the file of another program, of a newer version, and for one that is damaged.
 */
export const migrate = (database: Database): void => {
  const step = database.transaction(() => {
    const version = pragma(database, 'user_version')
    checkOrigin(database, version)
    if (version === schemaVersion) return
    for (const statements of migrations.slice(version)) database.exec(statements)
    database.pragma(`application_id = ${applicationId}`)
    database.pragma(`user_version = ${schemaVersion}`)
  })
  step.immediate()
  if (database.pragma('quick_check(1)', { simple: true }) !== 'ok') throw damaged()
}
