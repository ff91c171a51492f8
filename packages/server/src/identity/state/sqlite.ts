import { loadOptional } from 'rxspeech-engines/threads/load-optional'
import { codeOf } from 'rxspeech/internal/errors/speech-error'

type Value = string | number | null

export interface Statement<Values extends readonly Value[], Row> {
  readonly get: (...values: Values) => Row | undefined
  readonly all: (...values: Values) => readonly Row[]
  /** Returns how many rows it has changed. */
  readonly run: (...values: Values) => number
}

/** An open file of SQLite. All calls are synchronous; `sqliteCodeOf` names their errors. */
export interface Database {
  readonly exec: (statements: string) => void
  readonly prepare: <Values extends readonly Value[], Row = unknown>(statement: string) => Statement<Values, Row>
  /** The value of a setting, or the first one that an action returns. */
  readonly pragma: (name: string) => unknown
  /** Does all of the work or nothing. Within another transaction it is a part of that one. */
  readonly transaction: <Result>(lock: 'IMMEDIATE' | 'EXCLUSIVE', work: () => Result) => Result
  /** Ends an open transaction, and closes the file. Idempotent. */
  readonly close: () => void
}

/** What `node:sqlite` and libsql have in common. */
interface Driver {
  exec(statements: string): unknown
  prepare(statement: string): {
    all(...values: readonly Value[]): readonly unknown[]
    run(...values: readonly Value[]): { readonly changes: number | bigint }
  }
  close(): unknown
}

export type OpenSqlite = (path: string, busyTimeoutMs: number) => Database

/**
 * Loads the SQLite of Node. Node 20 has none: there it is that of the package libsql, whose native part needs no
 * install script. Rejects with `missing-dependency`.
 */
export const loadSqlite = async (): Promise<OpenSqlite> => {
  const builtIn = loadBuiltIn()
  if (builtIn !== undefined) return (path, timeoutMs) => databaseOf(new builtIn(path), timeoutMs, () => undefined)
  const what = `The file of subscriptions under Node ${process.versions.node}, which has no SQLite of its own,`
  const { default: Libsql } = await loadOptional<{ readonly default: new (path: string) => Driver }>(
    'libsql',
    what,
    __filename,
  )
  return (path, timeoutMs) => databaseOf(new Libsql(path), timeoutMs, truncateLog)
}

type NodeSqlite = { readonly DatabaseSync: new (path: string) => Driver } | undefined

/** Node 22 warns at the first load that it may change; what is used here has not. */
const loadBuiltIn = (): (new (path: string) => Driver) | undefined => {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- it is put back as it was
  const { emitWarning } = process
  process.emitWarning = () => undefined
  try {
    return (process.getBuiltinModule('node:sqlite') as NodeSqlite)?.DatabaseSync
  } finally {
    process.emitWarning = emitWarning
  }
}

/**
 * libsql closes a file only when its statements are garbage, and so leaves the write-ahead log of a closed file,
 * without which a copy of the file would lack changes.
 */
const truncateLog = (driver: Driver): void => {
  driver.exec('PRAGMA busy_timeout = 0')
  driver.exec('PRAGMA wal_checkpoint(TRUNCATE)')
}

const databaseOf = (driver: Driver, busyTimeoutMs: number, beforeClose: (driver: Driver) => void): Database => {
  let state: 'idle' | 'in transaction' | 'closed' = 'idle'
  const tryTo = (work: () => unknown): void => {
    try {
      work()
    } catch {
      // There is no transaction, as after a full disk, or others use the log.
    }
  }
  const prepare = <Values extends readonly Value[], Row>(text: string): Statement<Values, Row> => {
    const statement = driver.prepare(text)
    // `get` of libsql adds its own fields.
    const all = (...values: Values): readonly Row[] => statement.all(...values) as readonly Row[]
    return { all, get: (...values) => all(...values)[0], run: (...values) => Number(statement.run(...values).changes) }
  }
  driver.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`)
  return {
    exec: (statements) => void driver.exec(statements),
    prepare,
    pragma: (name) => Object.values(prepare<[], object>(`PRAGMA ${name}`).get() ?? {})[0] as unknown,
    transaction: (lock, work) => {
      if (state !== 'idle') return work()
      driver.exec(`BEGIN ${lock}`)
      state = 'in transaction'
      try {
        const result = work()
        driver.exec('COMMIT')
        return result
      } catch (error) {
        tryTo(() => driver.exec('ROLLBACK'))
        throw error
      } finally {
        state = 'idle'
      }
    },
    close: () => {
      if (state === 'closed') return
      state = 'closed'
      tryTo(() => driver.exec('ROLLBACK'))
      tryTo(() => beforeClose(driver))
      driver.close()
    },
  }
}

/** The result codes that mean something here (https://www.sqlite.org/rescode.html). */
const resultCodes: Readonly<Record<number, string>> = {
  5: 'SQLITE_BUSY',
  6: 'SQLITE_LOCKED',
  8: 'SQLITE_READONLY',
  10: 'SQLITE_IOERR',
  11: 'SQLITE_CORRUPT',
  13: 'SQLITE_FULL',
  14: 'SQLITE_CANTOPEN',
  26: 'SQLITE_NOTADB',
}

/** The name of the result code of SQLite, such as `SQLITE_BUSY`; the code of another error. */
export const sqliteCodeOf = (error: unknown): string | undefined => {
  const isNumbered = error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'
  // An extended code has the primary one in its lowest byte.
  return (isNumbered ? resultCodes[Number(error.errcode) & 255] : undefined) ?? codeOf(error)
}
