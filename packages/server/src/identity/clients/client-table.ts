import { either } from 'fp-ts'
import * as t from 'io-ts'
import type { StoredClient } from './client.js'
import type { Database } from '../state/sqlite.js'
import { damagedFile, storeFileName } from '../state/state-files.js'

interface Row {
  readonly client_id: string
  readonly secret_hash: string
  readonly previous_hash: string | null
  readonly previous_until_ms: number | null
  readonly valid_from_ms: number
  readonly valid_until_ms: number | null
  readonly may_introspect: number
  readonly token_lifetime_s: number | null
  readonly created_at_ms: number
  readonly cancelled_at_ms: number | null
  /** JSON of `[kind, name]` pairs. */
  readonly grants: string
}

type GrantKind = 'tenant' | 'project' | 'model'

const grantsCodec = t.readonlyArray(t.tuple([t.keyof({ tenant: null, project: null, model: null }), t.string]))

const parseGrants = (text: string): readonly (readonly [GrantKind, string])[] => {
  const grants = grantsCodec.decode(JSON.parse(text))
  if (either.isLeft(grants)) throw damagedFile(storeFileName)
  return grants.right
}

const clientOf = (row: Row): StoredClient => {
  const grants = parseGrants(row.grants)
  const named = (wanted: GrantKind): readonly string[] =>
    grants.filter(([kind]) => kind === wanted).map(([, name]) => name)
  const { previous_hash: hash, previous_until_ms: untilMs } = row
  return {
    clientId: row.client_id,
    secretHash: row.secret_hash,
    ...(hash === null || untilMs === null ? {} : { previousSecret: { hash, untilMs } }),
    tenants: named('tenant'),
    projects: named('project'),
    models: named('model'),
    validFromMs: row.valid_from_ms,
    validUntilMs: row.valid_until_ms ?? Infinity,
    cancelled: row.cancelled_at_ms !== null,
    mayIntrospect: row.may_introspect === 1,
    ...(row.token_lifetime_s !== null && { tokenLifetimeSeconds: row.token_lifetime_s }),
    createdAtMs: row.created_at_ms,
  }
}

const select = `
  SELECT s.*, (SELECT json_group_array(json_array(kind, name)) FROM grants g WHERE g.client_id = s.client_id) AS grants
  FROM subscriptions s`

export interface ClientTable {
  readonly find: (clientId: string) => StoredClient | undefined
  /** The oldest first. */
  readonly list: () => readonly StoredClient[]
  /** Returns false where the client id exists. */
  readonly insert: (client: StoredClient) => boolean
  /** Returns false if there is no such row, as `setSecret` does. */
  readonly setCancelled: (clientId: string, atMs: number) => boolean
  readonly setSecret: (clientId: string, hash: string, previousUntilMs: number | undefined) => boolean
  readonly setTokenLifetime: (clientId: string, seconds: number | undefined) => boolean
}

/** The rows of `subscriptions` and their `grants`. */
export const clientTable = (database: Database): ClientTable => {
  const byId = database.prepare<[string], Row>(`${select} WHERE s.client_id = ?`)
  const all = database.prepare<[], Row>(`${select} ORDER BY s.created_at_ms, s.client_id`)
  const insertRow = database.prepare<[string, string, number, number | null, number, number, number | null]>(
    `INSERT INTO subscriptions (client_id, secret_hash, valid_from_ms, valid_until_ms, may_introspect, created_at_ms,
       token_lifetime_s)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
  )
  const insertGrant = database.prepare<[string, GrantKind, string]>(
    'INSERT OR IGNORE INTO grants (client_id, kind, name) VALUES (?, ?, ?)',
  )
  const cancel = database.prepare<[number, string]>(
    'UPDATE subscriptions SET cancelled_at_ms = coalesce(cancelled_at_ms, ?) WHERE client_id = ?',
  )
  const rotate = database.prepare<[number | null, number | null, string, string]>(
    `UPDATE subscriptions SET previous_hash = iif(? IS NULL, NULL, secret_hash), previous_until_ms = ?, secret_hash = ?
     WHERE client_id = ?`,
  )
  const setLifetime = database.prepare<[number | null, string]>(
    'UPDATE subscriptions SET token_lifetime_s = ? WHERE client_id = ?',
  )
  const insertAll = (client: StoredClient): boolean => {
    const { clientId, validUntilMs } = client
    if (byId.get(clientId) !== undefined) return false
    const untilMs = Number.isFinite(validUntilMs) ? validUntilMs : null
    insertRow.run(
      clientId,
      client.secretHash,
      client.validFromMs,
      untilMs,
      Number(client.mayIntrospect === true),
      client.createdAtMs,
      client.tokenLifetimeSeconds ?? null,
    )
    const grants: Readonly<Record<GrantKind, readonly string[]>> = {
      tenant: client.tenants,
      project: client.projects,
      model: client.models,
    }
    for (const kind of ['tenant', 'project', 'model'] as const) {
      for (const name of grants[kind]) insertGrant.run(clientId, kind, name)
    }
    return true
  }
  return {
    find: (clientId) => {
      const row = byId.get(clientId)
      return row === undefined ? undefined : clientOf(row)
    },
    list: () => all.all().map(clientOf),
    insert: (client) => database.transaction('IMMEDIATE', () => insertAll(client)),
    setCancelled: (clientId, atMs) => cancel.run(atMs, clientId) > 0,
    setSecret: (clientId, hash, untilMs) => rotate.run(untilMs ?? null, untilMs ?? null, hash, clientId) > 0,
    setTokenLifetime: (clientId, seconds) => setLifetime.run(seconds ?? null, clientId) > 0,
  }
}
