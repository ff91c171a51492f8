import { Subject, type Observable } from 'rxjs'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { checkOptions, functionValue, optionsOf, text } from 'rxspeech/internal/protocol/validation'
import { clientTable } from './clients/client-table.js'
import { checkTokenLifetime, validateClient } from './clients/client.js'
import type { ClientRegistry } from './clients/manage-clients.js'
import { openDatabase } from './state/database.js'
import { stateFileError, storeFileName } from './state/state-files.js'
import { importRevokedTokens, revocationTable } from './tokens/revocation-table.js'

/** Where the store is, and its clock. */
export interface IdentityStoreOptions {
  /** The folder of `identity.db`; created if it is missing. */
  readonly stateFolder: string
  /** Milliseconds since 1970. @default Date.now */
  readonly now?: (() => number) | undefined
}

const identityStoreOptions = optionsOf<IdentityStoreOptions>()({ stateFolder: text }, { now: functionValue })

/**
 * Client registrations and revoked tokens in one file that several processes can have open, such as a service and the
 * command that manages it. All methods are synchronous, and their changes are on the disk when they return. They throw
 * `invalid-options` when the file is damaged or not writable, and `overloaded` when another process locks it for 5 s.
 */
export interface IdentityStore extends ClientRegistry {
  /** Whether the token with this `jti` was ended. */
  readonly isRevoked: (tokenId: string) => boolean
  /** Ends one token. Throws `overloaded` beyond 100,000 revocations a year. */
  readonly revoke: (tokenId: string) => void
  /** A number that differs after each change, by this process or by another. */
  readonly version: () => number
  /** Emits after each change by this process. */
  readonly changed$: Observable<unknown>
  /** Closes the file and completes `changed$`. */
  readonly close: () => void
}

/**
 * Opens the store. Rejects with `missing-dependency` under Node 20 without the package libsql, and with the errors that
 * the store throws.
 *
 * @example
 * const store = await openIdentityStore({ stateFolder: '.rxspeech' })
 */
export const openIdentityStore = async (options: IdentityStoreOptions): Promise<IdentityStore> => {
  checkOptions(identityStoreOptions, options)
  const { stateFolder, now = Date.now } = options
  const database = await openDatabase(stateFolder)
  const clients = clientTable(database)
  const revocations = revocationTable(database)
  const changed$ = new Subject<undefined>()
  let counter = 0
  let lastDataVersion: unknown

  const mapErrors = <Result>(work: () => Result): Result => {
    try {
      return work()
    } catch (error) {
      throw stateFileError(error, storeFileName)
    }
  }
  const change = <Result>(work: () => Result): Result => {
    const result = mapErrors(work)
    counter += 1
    changed$.next(undefined)
    return result
  }

  try {
    await importRevokedTokens(revocations, stateFolder)
  } catch (error) {
    database.close()
    throw stateFileError(error, storeFileName)
  }
  return {
    find: (clientId) => mapErrors(() => clients.find(clientId)),
    list: () => mapErrors(clients.list),
    add: (client) => {
      const { clientId, validFromMs, validUntilMs } = validateClient(client)
      if (!Number.isSafeInteger(validFromMs) || !(Number.isSafeInteger(validUntilMs) || validUntilMs === Infinity)) {
        throw new SpeechError('invalid-options', 'The begin and the end of a subscription must be whole milliseconds.')
      }
      change(() => {
        if (clients.insert(client)) return
        throw new SpeechError('invalid-options', `The subscription ${JSON.stringify(clientId)} already exists.`)
      })
    },
    cancel: (clientId) => change(() => clients.setCancelled(clientId, now())),
    replaceSecret: (clientId, hash, previousUntilMs) =>
      change(() => clients.setSecret(clientId, hash, previousUntilMs)),
    setTokenLifetime: (clientId, seconds) => {
      if (seconds !== undefined) checkTokenLifetime(seconds)
      return change(() => clients.setTokenLifetime(clientId, seconds))
    },
    isRevoked: (tokenId) => mapErrors(() => revocations.has(tokenId)),
    revoke: (tokenId) => change(() => revocations.add(tokenId, now())),
    version: () => {
      // SQLite changes its data version for commits of other connections only.
      const dataVersion = mapErrors(() => database.pragma('data_version'))
      if (dataVersion !== lastDataVersion) counter += 1
      lastDataVersion = dataVersion
      return counter
    },
    changed$: changed$.asObservable(),
    close: () => {
      database.close()
      changed$.complete()
    },
  }
}
