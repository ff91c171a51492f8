import type Database from 'better-sqlite3'
import { SpeechError } from '../../errors/speech-error.js'

export type OpenSqlite = (path: string, options: Database.Options) => Database.Database

/**
 * Loads better-sqlite3, which is native and optional. Rejects with `missing-dependency`, also where the package is there
 * and its native part is not, which it would find out only with the first file.
 */
export const loadSqlite = async (): Promise<OpenSqlite> => {
  try {
    const { default: Sqlite } = await import('better-sqlite3')
    new Sqlite(':memory:').close()
    return (path, options) => new Sqlite(path, options)
  } catch (cause) {
    throw new SpeechError(
      'missing-dependency',
      'Subscriptions are kept by the package better-sqlite3 12; npm install better-sqlite3.',
      { cause },
    )
  }
}
