import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Subject, type Observable } from 'rxjs'
import { isSpeechError } from '../../errors/speech-error.js'
import { lockIssuer, type TokenOrigin } from './state/issuer-lock.js'
import { openRevocations, type Revocations } from './tokens/revocations.js'
import { openIdentityStore, type IdentityStore } from './identity-store.js'
import { storeFileName } from './state/state-files.js'
import type { SubscriptionStore } from './clients/client.js'

/** What an identity service knows and keeps. */
export interface IdentityState {
  /** Those that were given, then those of the store. */
  readonly subscriptions: SubscriptionStore
  readonly revocations: Revocations
  /** Another number whenever subscriptions or revocations have changed. */
  readonly version: () => number
  /** Emits when this process has changed them. */
  readonly changed$: Observable<unknown>
  /** Settles when all is kept. */
  readonly close: () => Promise<void>
}

export interface IdentityStateOptions {
  readonly stateFolder?: string
  /** What every process of the state folder has to agree on. */
  readonly origin: TokenOrigin
  readonly subscriptions?: SubscriptionStore
  readonly now: () => number
}

/** Whoever cannot say whether something has changed is asked for everything each time. */
const versionOf = (store: SubscriptionStore): (() => number) => {
  let asked = 0
  return () => store.version?.() ?? (asked += 1)
}

const nobody: SubscriptionStore = { find: () => undefined, version: () => 0 }

const inMemory = async ({ subscriptions = nobody, ...where }: IdentityStateOptions): Promise<IdentityState> => {
  const revocations = await openRevocations(where)
  const changed$ = new Subject<undefined>()
  const version = versionOf(subscriptions)
  return {
    subscriptions,
    revocations: {
      ...revocations,
      add: (tokenId) => {
        const kept = revocations.add(tokenId)
        changed$.next(undefined)
        return kept
      },
    },
    version: () => version() + revocations.version(),
    changed$,
    close: revocations.flush,
  }
}

const inStore = (store: IdentityStore, given: SubscriptionStore | undefined, release: () => void): IdentityState => {
  const version = versionOf(given ?? nobody)
  return {
    subscriptions: { find: (clientId) => given?.find(clientId) ?? store.find(clientId) },
    revocations: {
      has: store.isRevoked,
      // As a promise of the list in memory would, it rejects and does not throw.
      add: (tokenId) => Promise.resolve().then(() => store.revoke(tokenId)),
      version: store.version,
      flush: () => Promise.resolve(),
    },
    version: () => version() + store.version(),
    changed$: store.changed$,
    close: () => Promise.resolve().then(store.close).finally(release),
  }
}

/**
 * Opens `identity.db` of the state folder, and agrees with other services of the folder on the issuer. Without a folder all lives as long as the process. Without better-sqlite3, in
 * a folder that has no `identity.db`, revocations alone are kept, in a list as of earlier versions; where there is an
 * `identity.db` that would let revoked tokens in again, and rejects with `missing-dependency`.
 */
export const openIdentityState = async (options: IdentityStateOptions): Promise<IdentityState> => {
  const { stateFolder, subscriptions, now, origin } = options
  if (stateFolder === undefined) return inMemory(options)
  let release = (): void => undefined
  try {
    release = await lockIssuer(stateFolder, origin)
    return inStore(await openIdentityStore({ stateFolder, now }), subscriptions, release)
  } catch (error) {
    release()
    const isMissing = isSpeechError(error) && error.code === 'missing-dependency'
    const isNeeded = subscriptions === undefined || existsSync(join(stateFolder, storeFileName))
    if (!isMissing || isNeeded) throw error
    return inMemory(options)
  }
}
