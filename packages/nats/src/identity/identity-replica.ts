import { Subject, type Observable } from 'rxjs'
import type { StoredClient } from 'rxspeech-server/identity/clients/client'
import { revocationLifetimeMs } from 'rxspeech-server/identity/keys/key-list'
import { maxRevocations } from 'rxspeech-server/identity/tokens/revocations'
import type { BucketEntry } from './bucket.js'
import { decodeClient, decodeRevocation, encodeClient, encodeRevocation, keyOf, nameOf } from './entries.js'
import type { Withdrawal } from './withdrawals.js'

/**
 * All entries of the bucket in memory. Without the servers it is as it was. A client whose entry cannot be read is
 * unknown, a token whose entry cannot be read is revoked.
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

  /** Takes what another process has withdrawn, whose entry comes later, or was lost and has to be written again. */
  withdraw(withdrawal: Withdrawal): void {
    if ('tokenId' in withdrawal) {
      const { tokenId, untilMs } = withdrawal
      if (this.isRevoked(tokenId) || untilMs <= this.#now() || this.#revokedUntilMs.size >= maxRevocations) return
      this.#revokedUntilMs.set(tokenId, untilMs)
    } else {
      const client = this.#clients.get(withdrawal.clientId)
      if (client === undefined || client.cancelled) return
      this.#clients.set(client.clientId, { ...client, cancelled: true })
    }
    this.#version += 1
    this.#changed$.next(undefined)
  }

  /** The bucket was created again, and its revisions start over; what is known stays until there are new entries. */
  restartRevisions(): void {
    for (const key of this.#revisions.keys()) this.#revisions.set(key, 0)
  }

  /** How many keys are known. */
  get size(): number {
    return this.#revisions.size
  }

  /**
   * The revocations and cancellations that are not among all entries of the bucket, each as it has to be written, with
   * the revision of the key's entry. Neither is ever taken back, so they were lost.
   */
  lostIn(entries: ReadonlyMap<string, BucketEntry>): readonly (BucketEntry & { readonly value: string })[] {
    const nowMs = this.#now()
    const revocations = [...this.#revokedUntilMs]
      .map(([tokenId, untilMs]) => ({ key: keyOf({ kind: 'revocation', tokenId }), untilMs }))
      .filter(({ key, untilMs }) => untilMs > nowMs && !entries.has(key))
      .map(({ key, untilMs }) => ({ key, value: encodeRevocation(untilMs), revision: 0 }))
    const cancellations = [...this.#clients.values()].flatMap((client) => {
      if (!client.cancelled) return []
      const key = keyOf({ kind: 'client', clientId: client.clientId })
      const { value, revision = 0 } = entries.get(key) ?? {}
      const stored = value === undefined ? client : decodeClient(client.clientId, value)
      const isLost = value === undefined || stored?.cancelled === false
      return isLost ? [{ key, value: encodeClient({ ...(stored ?? client), cancelled: true }), revision }] : []
    })
    return [...revocations, ...cancellations]
  }

  /** The keys of clients that are not among all entries of the bucket. */
  clientsNotIn(entries: ReadonlyMap<string, BucketEntry>): readonly string[] {
    return [...this.#clients.values()]
      .filter(({ cancelled }) => !cancelled)
      .map(({ clientId }) => keyOf({ kind: 'client', clientId }))
      .filter((key) => !entries.has(key))
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
      else {
        // A server that lost the cancellation, or lags, may still deliver the client without it.
        const cancelled = client.cancelled || this.#clients.get(name.clientId)?.cancelled === true
        this.#clients.set(name.clientId, { ...client, cancelled })
      }
      return client !== undefined || value === undefined
    }
    if (value === undefined) {
      this.#revokedUntilMs.delete(name.tokenId)
      return true
    }
    const untilMs = decodeRevocation(value)
    this.#revokedUntilMs.set(name.tokenId, untilMs ?? this.#now() + revocationLifetimeMs)
    return untilMs !== undefined
  }
}
