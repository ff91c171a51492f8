import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { Database } from 'better-sqlite3'
import { SpeechError } from '../../../errors/speech-error.js'
import { either } from 'fp-ts'
import * as t from 'io-ts'
import { readPrivateJson, writePrivateFile } from '../state/state-files.js'
import { tokenLifetimeMs } from '../keys/signing-keys.js'

export const revokedTokensFile = 'revoked-tokens.json'

/** How many are kept; beyond it subscriptions are to be cancelled. */
export const maxRevocations = 100_000

export interface RevokedToken {
  readonly tokenId: string
  /** When every token of that time has expired and the entry can go; milliseconds since 1970. */
  readonly untilMs: number
}

const fileCodec: t.Type<{ readonly revoked: readonly RevokedToken[] }, unknown> = t.type({
  revoked: t.readonlyArray(t.type({ tokenId: t.string, untilMs: t.number })),
})

export interface RevocationsOptions {
  /** Where the list survives a restart; without it it lives as long as the process. */
  readonly stateFolder?: string
  readonly now: () => number
}

/** Single tokens that are no longer good. To end all tokens of a client, cancel its subscription. */
export interface Revocations {
  readonly has: (tokenId: string) => boolean
  /** In force at once; settles when it is kept. Rejects with `overloaded` beyond 100 000 revocations a year. */
  readonly add: (tokenId: string) => Promise<void>
  /** Another number after each change. */
  readonly version: () => number
  /** Settles when all that was added is kept. */
  readonly flush: () => Promise<void>
}

/** The list in the file; undefined where there is none. Throws `invalid-options` when it is damaged. */
export const readRevokedTokens = async (path: string): Promise<readonly RevokedToken[] | undefined> => {
  const json = await readPrivateJson(path, undefined)
  if (either.isRight(json) && json.right === undefined) return undefined
  const file = either.chain((value: unknown) => fileCodec.decode(value))(json)
  // An empty list instead would let revoked tokens in again.
  if (either.isLeft(file)) {
    throw new SpeechError('invalid-options', 'revoked-tokens.json in the state folder is damaged; restore it.')
  }
  return file.right.revoked
}

/** The list of revoked tokens in memory, and in a file where there is a folder for it. Throws `invalid-options` when its file is damaged. */
export const openRevocations = async ({ stateFolder, now }: RevocationsOptions): Promise<Revocations> => {
  const path = stateFolder === undefined ? undefined : join(stateFolder, revokedTokensFile)
  const loaded = path === undefined ? undefined : await readRevokedTokens(path)
  const revoked = new Map((loaded ?? []).map(({ tokenId, untilMs }) => [tokenId, untilMs]))
  let kept: Promise<void> = Promise.resolve()
  let version = 0

  const keep = async (): Promise<void> => {
    if (path === undefined) return
    const list = [...revoked].map(([tokenId, untilMs]): RevokedToken => ({ tokenId, untilMs }))
    await writePrivateFile(path, `${JSON.stringify({ revoked: list })}\n`)
  }

  return {
    has: (tokenId) => revoked.has(tokenId),
    add: async (tokenId) => {
      for (const [id, untilMs] of revoked) if (untilMs <= now()) revoked.delete(id)
      if (revoked.size >= maxRevocations) {
        throw new SpeechError('overloaded', 'Too many tokens are revoked; cancel subscriptions instead.')
      }
      revoked.set(tokenId, now() + tokenLifetimeMs)
      version += 1
      const written = kept.then(keep)
      kept = written.catch(() => undefined)
      await written
    },
    version: () => version,
    flush: () => kept,
  }
}

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
