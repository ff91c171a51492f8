import type Database from 'better-sqlite3'
import { loadOptional } from '../../errors/load-optional.js'

export type OpenSqlite = (path: string, options: Database.Options) => Database.Database

/**
 * Loads better-sqlite3, which is native and optional. Rejects with `missing-dependency`, also where the package is there
 * and its native part is not, which it would find out only with the first file.
 */
export const loadSqlite = (): Promise<OpenSqlite> =>
  loadOptional('better-sqlite3@12', 'The file of subscriptions', async () => {
    const { default: Sqlite } = await import('better-sqlite3')
    new Sqlite(':memory:').close()
    return (path: string, options: Database.Options) => new Sqlite(path, options)
  })
