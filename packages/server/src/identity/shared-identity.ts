import type { Observable } from 'rxjs'
import type { StoredClient } from './clients/client.js'

/**
 * Client registrations and revoked tokens in a bucket that all machines share. Everything is read from memory, at once,
 * also while the servers are away. Changes go to the servers, and reject with `overloaded` when those cannot be reached
 * or another process changes the same entry all the time; then nothing is known to have changed.
 */
export interface SharedIdentity {
  /** The client with this id; undefined if there is none. */
  readonly find: (clientId: string) => StoredClient | undefined
  /** All clients, the oldest first. */
  readonly list: () => readonly StoredClient[]
  readonly isRevoked: (tokenId: string) => boolean
  /** Revoked tokens, and when each has expired in any case. */
  readonly revoked: () => ReadonlyMap<string, number>
  /** A number that differs after each change, by any machine. */
  readonly version: () => number
  /** Emits after each change, by any machine. */
  readonly changed$: Observable<unknown>
  /** How long ago all changes were last known to be here, in milliseconds. */
  readonly ageMs: () => number
  /** Emits when that becomes longer than 5 s, and when it no longer is. Never completes. */
  readonly stale$: Observable<boolean>
  /** Rejects with `invalid-options` when the client is malformed or its id exists. */
  readonly add: (client: StoredClient) => Promise<void>
  /** Ends the registration and all its tokens permanently. Resolves with false when there is no such client. */
  readonly cancel: (clientId: string) => Promise<boolean>
  /** Replaces the hash of the secret; the previous one stays valid until `previousUntilMs`, or ends at once. */
  readonly replaceSecret: (clientId: string, secretHash: string, previousUntilMs?: number) => Promise<boolean>
  readonly setTokenLifetime: (clientId: string, seconds: number | undefined) => Promise<boolean>
  /** Ends one token. Rejects with `overloaded` beyond 100,000 revocations a year. */
  readonly revoke: (tokenId: string, untilMs?: number) => Promise<void>
  /** Stops following the bucket; the connection belongs to the caller. */
  readonly close: () => void
}
