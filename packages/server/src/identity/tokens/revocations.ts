import { join } from 'node:path'
import { either } from 'fp-ts'
import * as t from 'io-ts'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { revocationLifetimeMs } from '../keys/key-list.js'
import { readPrivateJson, writePrivateFile, type ReadOptions } from '../state/state-files.js'

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

export interface RevokedToken {
  readonly tokenId: string
  /** When all tokens of that time have expired, so that the entry can be removed; milliseconds since 1970. */
  readonly untilMs: number
}

export const maxRevocations = 100_000

export const tooManyRevocations = (): SpeechError =>
  new SpeechError('overloaded', 'Too many tokens are revoked; cancel subscriptions instead.')

/**
 * Revoked tokens in memory, and in a JSON file if there is a state folder: for installations without SQLite.
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
      revoked.set(tokenId, now() + revocationLifetimeMs)
      version += 1
      const written = stored.then(store)
      stored = written.catch(() => undefined)
      await written
    },
    version: () => version,
    flush: () => stored,
  }
}

export const revokedTokensFile = 'revoked-tokens.json'

const fileCodec: t.Type<{ readonly revoked: readonly RevokedToken[] }, unknown> = t.type({
  revoked: t.readonlyArray(t.type({ tokenId: t.string, untilMs: t.number })),
})

/** The entries of the file, or undefined if there is none. Rejects with `invalid-options` when it is damaged. */
export const readRevokedTokens = async (
  path: string,
  options?: ReadOptions,
): Promise<readonly RevokedToken[] | undefined> => {
  const json = await readPrivateJson(path, undefined, options)
  if (either.isRight(json) && json.right === undefined) return undefined
  const file = either.chain((value: unknown) => fileCodec.decode(value))(json)
  // An empty list would accept revoked tokens again.
  if (either.isLeft(file)) {
    throw new SpeechError('invalid-options', 'revoked-tokens.json in the state folder is damaged; restore it.')
  }
  return file.right.revoked
}
