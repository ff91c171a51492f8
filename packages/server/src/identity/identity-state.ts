import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Subject, type Observable } from 'rxjs'
import { isSpeechError } from 'rxspeech/internal/errors/speech-error'
import type { ClientStore } from './clients/client.js'
import { openIdentityStore, type IdentityStore } from './identity-store.js'
import { lockIssuer, type TokenOrigin } from './state/issuer-lock.js'
import { storeFileName } from './state/state-files.js'
import type { SharedIdentity } from './shared-identity.js'
import { openRevocations, type Revocations } from './tokens/revocations.js'

/** The clients and revoked tokens of an identity service. */
export interface IdentityState {
  /** The clients from the options, then those of the store. */
  readonly clients: ClientStore
  readonly revocations: Revocations
  /** A number that differs after each change of clients or revocations. */
  readonly version: () => number
  /** Emits after each change by this process. */
  readonly changed$: Observable<unknown>
  /** Settles when everything is stored. */
  readonly close: () => Promise<void>
}

export interface IdentityStateOptions {
  readonly stateFolder?: string | undefined
  /** All processes of the state folder have to use the same. */
  readonly origin: TokenOrigin
  readonly clients?: ClientStore | undefined
  /** Clients and revocations of several machines, in place of those of the state folder. */
  readonly shared?: SharedIdentity | undefined
  readonly now: () => number
}

/**
 * Opens `identity.db` of the state folder and locks the issuer (`lockIssuer`). Without a folder the state lasts as long
 * as the process. Without SQLite (`loadSqlite`), in a folder without `identity.db`, only revocations are stored, in a
 * JSON file; where there is an `identity.db`, that would accept revoked tokens, so it rejects with
 * `missing-dependency`.
 */
export const openIdentityState = async (options: IdentityStateOptions): Promise<IdentityState> => {
  const { stateFolder, clients, now, origin, shared } = options
  if (shared !== undefined) return sharedState(shared, clients)
  if (stateFolder === undefined) return stateInMemory(options)
  let release = (): void => undefined
  try {
    release = await lockIssuer(stateFolder, origin)
    return stateInStore(await openIdentityStore({ stateFolder, now }), clients, release)
  } catch (error) {
    release()
    const isMissing = isSpeechError(error) && error.code === 'missing-dependency'
    if (!isMissing || needsStore(stateFolder, clients)) throw error
    return stateInMemory(options)
  }
}

/** Whether a service cannot do without the store: it has no other clients, or there are revocations in it. */
export const needsStore = (stateFolder: string, clients: ClientStore | undefined): boolean =>
  clients === undefined || existsSync(join(stateFolder, storeFileName))

const noClients: ClientStore = { find: () => undefined, version: () => 0 }

const stateInMemory = async ({ clients = noClients, ...options }: IdentityStateOptions): Promise<IdentityState> => {
  const revocations = await openRevocations(options)
  const changed$ = new Subject<undefined>()
  const version = versionOf(clients)
  return {
    clients,
    revocations: {
      ...revocations,
      add: (tokenId) => {
        const stored = revocations.add(tokenId)
        changed$.next(undefined)
        return stored
      },
    },
    version: () => version() + revocations.version(),
    changed$,
    close: revocations.flush,
  }
}

const stateInStore = (store: IdentityStore, given: ClientStore | undefined, release: () => void): IdentityState => {
  const version = versionOf(given ?? noClients)
  return {
    clients: { find: (clientId) => given?.find(clientId) ?? store.find(clientId) },
    revocations: {
      has: store.isRevoked,
      // Rejects instead of throwing, as the revocations in memory do.
      add: (tokenId) => Promise.resolve().then(() => store.revoke(tokenId)),
      version: store.version,
      flush: () => Promise.resolve(),
    },
    version: () => version() + store.version(),
    changed$: store.changed$,
    close: () => Promise.resolve().then(store.close).finally(release),
  }
}

/** The connection belongs to the caller. */
const sharedState = (shared: SharedIdentity, given: ClientStore | undefined): IdentityState => {
  const version = versionOf(given ?? noClients)
  return {
    clients: { find: (clientId) => given?.find(clientId) ?? shared.find(clientId) },
    revocations: {
      has: shared.isRevoked,
      add: (tokenId) => shared.revoke(tokenId),
      version: shared.version,
      flush: () => Promise.resolve(),
    },
    version: () => version() + shared.version(),
    changed$: shared.changed$,
    close: () => Promise.resolve(),
  }
}

/** A store without versions counts as changed at each call. */
const versionOf = (store: ClientStore): (() => number) => {
  let calls = 0
  return () => store.version?.() ?? (calls += 1)
}
