import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { Database } from 'better-sqlite3'
import { SpeechError } from '../../errors/speech-error.js'
import { maxRevocations, readRevokedTokens, revokedTokensFile, type RevokedToken } from './revocation-file.js'

export interface RevocationTable {
  readonly has: (tokenId: string) => boolean
  /** Forgets those whose time is over. Throws `overloaded` when there are too many. */
  readonly add: (token: RevokedToken, nowMs: number) => void
  readonly addAll: (tokens: readonly RevokedToken[]) => void
}

/** The rows of `revoked_tokens`. */
export const revocationTable = (database: Database): RevocationTable => {
  const find = database.prepare<[string], number>('SELECT 1 FROM revoked_tokens WHERE token_id = ?').pluck()
  const count = database.prepare<[], number>('SELECT count(*) FROM revoked_tokens').pluck()
  const forget = database.prepare<[number]>('DELETE FROM revoked_tokens WHERE until_ms <= ?')
  const insert = database.prepare<[string, number]>(
    'INSERT INTO revoked_tokens (token_id, until_ms) VALUES (?, ?) ON CONFLICT DO NOTHING',
  )
  const add = database.transaction(({ tokenId, untilMs }: RevokedToken, nowMs: number) => {
    forget.run(nowMs)
    if (find.get(tokenId) === undefined && (count.get() ?? 0) >= maxRevocations) {
      throw new SpeechError('overloaded', 'Too many tokens are revoked; cancel subscriptions instead.')
    }
    insert.run(tokenId, untilMs)
  })
  const addAll = database.transaction((tokens: readonly RevokedToken[]) => {
    for (const { tokenId, untilMs } of tokens) insert.run(tokenId, untilMs)
  })
  return {
    has: (tokenId) => find.get(tokenId) !== undefined,
    add: (token, nowMs) => add.immediate(token, nowMs),
    addAll: (tokens) => addAll.immediate(tokens),
  }
}

/**
 * Takes over the list that earlier versions kept as `revoked-tokens.json`, once: the file gets another name when its
 * entries are in the table. Ended in between, it is read again, which changes nothing.
 */
export const importRevokedTokens = async (table: RevocationTable, stateFolder: string): Promise<void> => {
  const path = join(stateFolder, revokedTokensFile)
  const tokens = await readRevokedTokens(path)
  if (tokens === undefined) return
  table.addAll(tokens)
  await rename(path, `${path}.imported`).catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
  })
}
