import { Subject, type Observable } from 'rxjs'
import { SpeechError } from '../../errors/speech-error.js'
import { validateSubscription, type StoredSubscription, type SubscriptionStore } from './clients/client.js'
import { tokenLifetimeMs } from './keys/signing-keys.js'
import { openDatabase } from './state/database.js'
import { importRevokedTokens, revocationTable } from './tokens/revocations.js'
import { storeError } from './state/state-files.js'
import { subscriptionTable } from './clients/client-table.js'

export interface IdentityStoreOptions {
  /** The folder of `identity.db`; made where it is missing. */
  readonly stateFolder: string
  /** Milliseconds since 1970; default the clock of this machine. */
  readonly now?: () => number
}

/**
 * Subscriptions and revoked tokens in one file that many processes may have open, such as a service and the command that
 * manages them. All of it is synchronous, and on the disk when it returns. Throws `invalid-options` when the file is
 * damaged or cannot be written to, `overloaded` when another process keeps it locked for 5 s.
 */
export interface IdentityStore extends SubscriptionStore {
  readonly find: (clientId: string) => StoredSubscription | undefined
  /** All there are, the oldest first. */
  readonly list: () => readonly StoredSubscription[]
  /** Throws `invalid-options` when it is malformed or its client id is taken, by a cancelled one, too. */
  readonly add: (subscription: StoredSubscription) => void
  /** Ends the subscription and all its tokens for good; false when there is none. */
  readonly cancel: (clientId: string) => boolean
  /** Replaces the hash of the secret; the one of before is good until then, or no more. False when there is none. */
  readonly replaceSecret: (clientId: string, secretHash: string, previousUntilMs?: number) => boolean
  readonly isRevoked: (tokenId: string) => boolean
  /** Ends one token. Throws `overloaded` beyond 100,000 revocations a year. */
  readonly revoke: (tokenId: string) => void
  /** Another number after each change, of this process or of another. */
  readonly version: () => number
  /** Emits after each change of this process. */
  readonly changed$: Observable<unknown>
  readonly close: () => void
}

/** Opens the store. Rejects with `missing-dependency` without better-sqlite3, else with what the store throws. */
export const openIdentityStore = async (options: IdentityStoreOptions): Promise<IdentityStore> => {
  const { stateFolder, now = Date.now } = options
  const database = await openDatabase(stateFolder)
  const subscriptions = subscriptionTable(database)
  const revocations = revocationTable(database)
  const changed$ = new Subject<undefined>()
  let counter = 0
  let seen: unknown

  const named = <Outcome>(work: () => Outcome): Outcome => {
    try {
      return work()
    } catch (error) {
      throw storeError(error)
    }
  }
  const change = <Outcome>(work: () => Outcome): Outcome => {
    const outcome = named(work)
    counter += 1
    changed$.next(undefined)
    return outcome
  }

  try {
    await importRevokedTokens(revocations, stateFolder)
  } catch (error) {
    database.close()
    throw storeError(error)
  }
  return {
    find: (clientId) => named(() => subscriptions.find(clientId)),
    list: () => named(subscriptions.list),
    add: (subscription) => {
      const { clientId, validFromMs, validUntilMs } = validateSubscription(subscription)
      if (!Number.isSafeInteger(validFromMs) || !(Number.isSafeInteger(validUntilMs) || validUntilMs === Infinity)) {
        throw new SpeechError('invalid-options', 'A subscription begins and ends at whole milliseconds.')
      }
      change(() => {
        if (subscriptions.insert(subscription)) return
        throw new SpeechError('invalid-options', `There is a subscription ${JSON.stringify(clientId)} already.`)
      })
    },
    cancel: (clientId) => change(() => subscriptions.setCancelled(clientId, now())),
    replaceSecret: (clientId, hash, previousUntilMs) =>
      change(() => subscriptions.setSecret(clientId, hash, previousUntilMs)),
    isRevoked: (tokenId) => named(() => revocations.has(tokenId)),
    revoke: (tokenId) => change(() => revocations.add({ tokenId, untilMs: now() + tokenLifetimeMs }, now())),
    version: () => {
      // SQLite's own number changes with the commits of others only.
      const current = named(() => database.pragma('data_version', { simple: true }))
      if (current !== seen) counter += 1
      seen = current
      return counter
    },
    changed$: changed$.asObservable(),
    close: () => {
      database.close()
      changed$.complete()
    },
  }
}
