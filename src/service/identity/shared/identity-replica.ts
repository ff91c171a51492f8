import { Subject, type Observable } from 'rxjs'
import type { StoredClient } from '../clients/client.js'
import { tokenLifetimeMs } from '../keys/key-list.js'
import type { BucketEntry } from './bucket.js'
import { decodeClient, decodeRevocation, keyOf, nameOf } from './entries.js'

/**
 * All entries of the bucket in memory. Without the servers it is as it was. A client whose entry cannot be read is unknown, a
 * token whose entry cannot be read is revoked.
 */
export class IdentityReplica {
  readonly #now: () => number
  readonly #clients = new Map<string, StoredClient>()
  readonly #revokedUntilMs = new Map<string, number>()
  readonly #revisions = new Map<string, number>()
  readonly #changed$ = new Subject<undefined>()
  #version = 0

  constructor(now: () => number) {
    this.#now = now
  }

  /** A number that differs after each change. */
  get version(): number {
    return this.#version
  }

  /** Emits after each change. */
  get changed$(): Observable<unknown> {
    return this.#changed$.asObservable()
  }

  find(clientId: string): StoredClient | undefined {
    return this.#clients.get(clientId)
  }

  /** The oldest first. */
  list(): readonly StoredClient[] {
    return [...this.#clients.values()].toSorted(
      (a, b) => a.createdAtMs - b.createdAtMs || (a.clientId < b.clientId ? -1 : 1),
    )
  }

  isRevoked(tokenId: string): boolean {
    return this.#revokedUntilMs.has(tokenId)
  }

  /** Revoked tokens, and when each has expired in any case. */
  revoked(): ReadonlyMap<string, number> {
    return this.#revokedUntilMs
  }

  /** Takes an entry unless a later one of its key is known. Returns false for one that cannot be read. */
  apply({ key, value, revision }: BucketEntry): boolean {
    if (revision <= (this.#revisions.get(key) ?? 0)) return true
    this.#revisions.set(key, revision)
    const isReadable = this.#take(key, value)
    this.#version += 1
    this.#changed$.next(undefined)
    return isReadable
  }

  /** The bucket was created again, and its revisions start over; what is known stays until there are new entries. */
  restartRevisions(): void {
    for (const key of this.#revisions.keys()) this.#revisions.set(key, 0)
  }

  /** How many entries the bucket no longer has: they were not applied since `restartRevisions`. */
  get missing(): number {
    const nowMs = this.#now()
    return [...this.#revisions].filter(([key, revision]) => {
      const name = nameOf(key)
      const isExpired = name?.kind === 'revocation' && (this.#revokedUntilMs.get(name.tokenId) ?? 0) <= nowMs
      return revision === 0 && !isExpired
    }).length
  }

  /** Removes the revocations of tokens, which the bucket no longer has. */
  forget(tokenIds: readonly string[]): void {
    for (const tokenId of tokenIds) {
      this.#revokedUntilMs.delete(tokenId)
      this.#revisions.delete(keyOf({ kind: 'revocation', tokenId }))
    }
  }

  close(): void {
    this.#changed$.complete()
  }

  #take(key: string, value: string | undefined): boolean {
    const name = nameOf(key)
    if (name === undefined) return true
    if (name.kind === 'client') {
      const client = value === undefined ? undefined : decodeClient(name.clientId, value)
      if (client === undefined) this.#clients.delete(name.clientId)
      else this.#clients.set(name.clientId, client)
      return client !== undefined || value === undefined
    }
    if (value === undefined) {
      this.#revokedUntilMs.delete(name.tokenId)
      return true
    }
    const untilMs = decodeRevocation(value)
    this.#revokedUntilMs.set(name.tokenId, untilMs ?? this.#now() + tokenLifetimeMs)
    return untilMs !== undefined
  }
}
