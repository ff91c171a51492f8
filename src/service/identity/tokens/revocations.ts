import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { Database } from 'better-sqlite3'
import { either } from 'fp-ts'
import * as t from 'io-ts'
import { SpeechError } from '../../../errors/speech-error.js'
import { codeOf } from '../../../errors/code-of.js'
import { tokenLifetimeMs } from '../keys/signing-keys.js'
import { readPrivateJson, writePrivateFile } from '../state/state-files.js'

/** Single tokens that are no longer valid. To end all tokens of a client, cancel its registration. */
export interface Revocations {
  readonly has: (tokenId: string) => boolean
  /** Takes effect at once; settles when it is stored. Rejects with `overloaded` beyond 100,000 revocations a year. */
  readonly add: (tokenId: string) => Promise<void>
  /** A number that differs after each change. */
  readonly version: () => number
  /** Settles when everything is stored. */
  readonly flush: () => Promise<void>
}

export interface RevocationsOptions {
  /** Where the list is stored. Without it the list lasts as long as the process. */
  readonly stateFolder?: string | undefined
  readonly now: () => number
}

interface RevokedToken {
  readonly tokenId: string
  /** When all tokens of that time have expired, so that the entry can be removed; milliseconds since 1970. */
  readonly untilMs: number
}

const maxRevocations = 100_000

const tooManyRevocations = (): SpeechError =>
  new SpeechError('overloaded', 'Too many tokens are revoked; cancel subscriptions instead.')

/**
 * Revoked tokens in memory, and in a JSON file where there is a state folder: for installations without better-sqlite3.
 * Rejects with `invalid-options` when the file is damaged.
 */
export const openRevocations = async ({ stateFolder, now }: RevocationsOptions): Promise<Revocations> => {
  const path = stateFolder === undefined ? undefined : join(stateFolder, revokedTokensFile)
  const loaded = path === undefined ? undefined : await readRevokedTokens(path)
  const revoked = new Map((loaded ?? []).map(({ tokenId, untilMs }) => [tokenId, untilMs]))
  let stored: Promise<void> = Promise.resolve()
  let version = 0

  const store = async (): Promise<void> => {
    if (path === undefined) return
    const list = [...revoked].map(([tokenId, untilMs]): RevokedToken => ({ tokenId, untilMs }))
    await writePrivateFile(path, `${JSON.stringify({ revoked: list })}\n`)
  }

  return {
    has: (tokenId) => revoked.has(tokenId),
    add: async (tokenId) => {
      for (const [id, untilMs] of revoked) if (untilMs <= now()) revoked.delete(id)
      if (revoked.size >= maxRevocations) throw tooManyRevocations()
      revoked.set(tokenId, now() + tokenLifetimeMs)
      version += 1
      const written = stored.then(store)
      stored = written.catch(() => undefined)
      await written
    },
    version: () => version,
    flush: () => stored,
  }
}

export interface RevocationTable {
  readonly has: (tokenId: string) => boolean
  /** Removes expired entries. Throws `overloaded` when there are too many. */
  readonly add: (tokenId: string, nowMs: number) => void
  readonly addAll: (tokens: readonly RevokedToken[]) => void
}

/** The table `revoked_tokens` of the identity store. */
export const revocationTable = (database: Database): RevocationTable => {
  const find = database.prepare<[string], number>('SELECT 1 FROM revoked_tokens WHERE token_id = ?').pluck()
  const count = database.prepare<[], number>('SELECT count(*) FROM revoked_tokens').pluck()
  const removeExpired = database.prepare<[number]>('DELETE FROM revoked_tokens WHERE until_ms <= ?')
  const insert = database.prepare<[string, number]>(
    'INSERT INTO revoked_tokens (token_id, until_ms) VALUES (?, ?) ON CONFLICT DO NOTHING',
  )
  const add = database.transaction((tokenId: string, nowMs: number) => {
    removeExpired.run(nowMs)
    if (find.get(tokenId) === undefined && (count.get() ?? 0) >= maxRevocations) throw tooManyRevocations()
    insert.run(tokenId, nowMs + tokenLifetimeMs)
  })
  const addAll = database.transaction((tokens: readonly RevokedToken[]) => {
    for (const { tokenId, untilMs } of tokens) insert.run(tokenId, untilMs)
  })
  return {
    has: (tokenId) => find.get(tokenId) !== undefined,
    add: (tokenId, nowMs) => add.immediate(tokenId, nowMs),
    addAll: (tokens) => addAll.immediate(tokens),
  }
}

/**
 * Moves the entries of `revoked-tokens.json` into the table, once: the file is renamed when its entries are stored. After
 * an interruption in between it is read again, which changes nothing.
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

const revokedTokensFile = 'revoked-tokens.json'

const fileCodec: t.Type<{ readonly revoked: readonly RevokedToken[] }, unknown> = t.type({
  revoked: t.readonlyArray(t.type({ tokenId: t.string, untilMs: t.number })),
})

/** The entries of the file, or undefined where there is none. Rejects with `invalid-options` when it is damaged. */
const readRevokedTokens = async (path: string): Promise<readonly RevokedToken[] | undefined> => {
  const json = await readPrivateJson(path, undefined)
  if (either.isRight(json) && json.right === undefined) return undefined
  const file = either.chain((value: unknown) => fileCodec.decode(value))(json)
  // An empty list would accept revoked tokens again.
  if (either.isLeft(file)) {
    throw new SpeechError('invalid-options', 'revoked-tokens.json in the state folder is damaged; restore it.')
  }
  return file.right.revoked
}
