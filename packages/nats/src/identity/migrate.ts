import { clientTable } from 'rxspeech-server/identity/clients/client-table'
import type { StoredClient } from 'rxspeech-server/identity/clients/client'
import type { SharedIdentity } from 'rxspeech-server/identity/shared-identity'
import { openDatabase } from 'rxspeech-server/identity/state/database'
import { stateFileError, storeFileName } from 'rxspeech-server/identity/state/state-files'
import { importRevokedTokens, revocationTable } from 'rxspeech-server/identity/tokens/revocation-table'
import type { RevokedToken } from 'rxspeech-server/identity/tokens/revocations'

/** Where subscriptions and revocations are: a state folder, or the bucket of several machines. */
export interface IdentityPlace {
  readonly clients: () => readonly StoredClient[]
  readonly revoked: () => readonly RevokedToken[]
  /** Adds a client as it is, with its hashes. */
  readonly add: (client: StoredClient) => Promise<void>
  readonly cancel: (clientId: string) => Promise<void>
  readonly revoke: (tokens: readonly RevokedToken[]) => Promise<void>
  readonly close: () => void
}

/** What a migration has to change in the place that it goes to. */
export interface Migration {
  readonly add: readonly StoredClient[]
  /** Clients that only the source has as cancelled. */
  readonly cancel: readonly string[]
  readonly unchanged: readonly string[]
  /** Clients that differ otherwise: those of the target stay. */
  readonly different: readonly string[]
  readonly revoke: readonly RevokedToken[]
  /** Revocations that the target has already. */
  readonly revoked: number
}

/**
 * Compares two places. A migration only adds: it removes nothing, un-cancels nothing and replaces no secret, so it can
 * be repeated, and run in the other direction.
 */
export const planMigration = (from: IdentityPlace, to: IdentityPlace, nowMs: number): Migration => {
  const existing = new Map(to.clients().map((client) => [client.clientId, client]))
  const kinds = {
    add: [] as StoredClient[],
    cancel: [] as string[],
    unchanged: [] as string[],
    different: [] as string[],
  }
  for (const client of from.clients()) {
    const { clientId, cancelled } = client
    const other = existing.get(clientId)
    if (other === undefined) kinds.add.push(client)
    else if (cancelled && !other.cancelled) kinds.cancel.push(clientId)
    else if (fingerprint(client) === fingerprint(other)) kinds.unchanged.push(clientId)
    else kinds.different.push(clientId)
  }
  const known = new Set(to.revoked().map(({ tokenId }) => tokenId))
  const valid = from.revoked().filter(({ untilMs }) => untilMs > nowMs)
  const revoke = valid.filter(({ tokenId }) => !known.has(tokenId))
  return { ...kinds, revoke, revoked: valid.length - revoke.length }
}

/** Makes the changes. When it fails part of them is made; another run makes the rest. */
export const migrate = async ({ add, cancel, revoke }: Migration, to: IdentityPlace): Promise<void> => {
  // First what takes rights away.
  await to.revoke(revoke)
  for (const clientId of cancel) await to.cancel(clientId)
  for (const client of add) await to.add(client)
}

/** The order of grants has no meaning, and a cancelled client stays so. */
const fingerprint = ({ cancelled: _, tenants, projects, models, ...client }: StoredClient): string => {
  const { secretHash, previousSecret, validFromMs, validUntilMs, mayIntrospect = false } = client
  const grants = [tenants, projects, models].map((names) => [...new Set(names)].toSorted())
  const validity = [validFromMs, Number.isFinite(validUntilMs) ? validUntilMs : null]
  const { tokenLifetimeSeconds = null } = client
  return JSON.stringify([secretHash, previousSecret?.hash, grants, validity, mayIntrospect, tokenLifetimeSeconds])
}

/** The place of a state folder. Rejects as `openIdentityStore`. */
export const folderPlace = async (stateFolder: string, nowMs: number): Promise<IdentityPlace> => {
  const database = await openDatabase(stateFolder)
  const clients = clientTable(database)
  const revocations = revocationTable(database)
  const mapErrors = <Result>(work: () => Result): Result => {
    try {
      return work()
    } catch (error) {
      throw stateFileError(error, storeFileName)
    }
  }
  await importRevokedTokens(revocations, stateFolder).catch((error: unknown) => {
    database.close()
    throw stateFileError(error, storeFileName)
  })
  const insert = (client: StoredClient): void => {
    const { clientId, secretHash, previousSecret, cancelled } = client
    // The table makes the current secret the previous one when it gets a new one.
    clients.insert({ ...client, secretHash: previousSecret?.hash ?? secretHash })
    if (previousSecret !== undefined) clients.setSecret(clientId, secretHash, previousSecret.untilMs)
    if (cancelled) clients.setCancelled(clientId, nowMs)
  }
  return {
    clients: () => mapErrors(clients.list),
    revoked: () => mapErrors(revocations.all),
    add: (client) =>
      Promise.resolve().then(() => mapErrors(() => database.transaction('IMMEDIATE', () => insert(client)))),
    cancel: (clientId) =>
      Promise.resolve().then(() => {
        mapErrors(() => clients.setCancelled(clientId, nowMs))
      }),
    revoke: (tokens) => Promise.resolve().then(() => mapErrors(() => revocations.addAll(tokens))),
    close: () => database.close(),
  }
}

/** How many changes wait for the servers at the same time. */
const concurrent = 100

/** The place of a shared identity, which stays open. */
export const sharedPlace = (shared: SharedIdentity): IdentityPlace => ({
  clients: shared.list,
  revoked: () => [...shared.revoked()].map(([tokenId, untilMs]) => ({ tokenId, untilMs })),
  add: shared.add,
  cancel: async (clientId) => {
    await shared.cancel(clientId)
  },
  revoke: async (tokens) => {
    for (let index = 0; index < tokens.length; index += concurrent) {
      const some = tokens.slice(index, index + concurrent)
      await Promise.all(some.map(({ tokenId, untilMs }) => shared.revoke(tokenId, untilMs)))
    }
  },
  close: () => undefined,
})
