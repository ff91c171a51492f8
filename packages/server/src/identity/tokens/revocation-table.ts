import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from 'rxspeech/internal/errors/speech-error'
import { revocationLifetimeMs } from '../keys/key-list.js'
import type { Database } from '../state/sqlite.js'
import {
  maxRevocations,
  readRevokedTokens,
  revokedTokensFile,
  tooManyRevocations,
  type RevokedToken,
} from './revocations.js'

export interface RevocationTable {
  readonly has: (tokenId: string) => boolean
  /** Removes expired entries. Throws `overloaded` when there are too many. */
  readonly add: (tokenId: string, nowMs: number) => void
  readonly addAll: (tokens: readonly RevokedToken[]) => void
  readonly all: () => readonly RevokedToken[]
}

/** The table `revoked_tokens` of the identity store. */
export const revocationTable = (database: Database): RevocationTable => {
  const find = database.prepare<[string]>('SELECT 1 FROM revoked_tokens WHERE token_id = ?')
  const count = database.prepare<[], { readonly total: number }>('SELECT count(*) AS total FROM revoked_tokens')
  const removeExpired = database.prepare<[number]>('DELETE FROM revoked_tokens WHERE until_ms <= ?')
  const insert = database.prepare<[string, number]>(
    'INSERT INTO revoked_tokens (token_id, until_ms) VALUES (?, ?) ON CONFLICT DO NOTHING',
  )
  const add = (tokenId: string, nowMs: number): void => {
    removeExpired.run(nowMs)
    if (find.get(tokenId) === undefined && (count.get()?.total ?? 0) >= maxRevocations) throw tooManyRevocations()
    insert.run(tokenId, nowMs + revocationLifetimeMs)
  }
  const list = database.prepare<[], RevokedToken>('SELECT token_id AS tokenId, until_ms AS untilMs FROM revoked_tokens')
  return {
    all: () => list.all(),
    has: (tokenId) => find.get(tokenId) !== undefined,
    add: (tokenId, nowMs) => database.transaction('IMMEDIATE', () => add(tokenId, nowMs)),
    addAll: (tokens) =>
      database.transaction('IMMEDIATE', () => {
        for (const { tokenId, untilMs } of tokens) insert.run(tokenId, untilMs)
      }),
  }
}

/**
 * Moves the entries of `revoked-tokens.json` into the table, once: the file is renamed when its entries are stored.
 * After an interruption in between it is read again, which changes nothing.
 */
export const importRevokedTokens = async (table: RevocationTable, stateFolder: string): Promise<void> => {
  const path = join(stateFolder, revokedTokensFile)
  const tokens = await readRevokedTokens(path)
  if (tokens === undefined) return
  table.addAll(tokens)
  await rename(path, `${path}.imported`).catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT') throw error
  })
}
