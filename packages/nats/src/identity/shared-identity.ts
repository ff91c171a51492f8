import { checkTokenLifetime, type StoredClient, validateClient } from 'rxspeech-server/identity/clients/client'
import { revocationLifetimeMs } from 'rxspeech-server/identity/keys/key-list'
import type { SharedIdentity } from 'rxspeech-server/identity/shared-identity'
import { maxRevocations, tooManyRevocations } from 'rxspeech-server/identity/tokens/revocations'
import { isSpeechError, SpeechError } from 'rxspeech/internal/errors/speech-error'
import {
  distinctUntilChanged,
  filter,
  firstValueFrom,
  interval,
  map,
  skip,
  startWith,
  timeout,
  type Observable,
  type SchedulerLike,
} from 'rxjs'
import type { Bucket } from './bucket.js'
import { decodeClient, encodeClient, encodeRevocation, keyOf } from './entries.js'
import { followBucket } from './follow-bucket.js'
import { IdentityReplica } from './identity-replica.js'
import type { WithdrawalExchange } from './withdrawals.js'

export interface SharedIdentityOptions {
  readonly bucket: Bucket
  /**
   * Each confirmed revocation and cancellation is sent over it too, so that one that the bucket loses is known
   * elsewhere.
   */
  readonly withdrawals: WithdrawalExchange
  /** Whether the connection stands, at first and with each change. */
  readonly isUp$: Observable<boolean>
  readonly scheduler: SchedulerLike
  readonly onFault: (error: unknown) => void
}

/** How long the first reading may take. */
const openWithinMs = 15_000
/** From this age on a problem is reported to the operator. */
const staleAfterMs = 5_000
const checkAgeMs = 1_000
/** How often a change is tried again that another process was faster with. */
const maxAttempts = 5
/** How many revocations of expired tokens are removed with each new one. */
const maxForgotten = 100

/** Resolves when the bucket has been read. Rejects with `connection-failed` if that takes too long. */
export const openSharedIdentity = async (options: SharedIdentityOptions): Promise<SharedIdentity> => {
  const { bucket, withdrawals, isUp$, scheduler, onFault } = options
  const now = (): number => scheduler.now()
  const replica = new IdentityReplica(now)
  const following = followBucket({ bucket, replica, isUp$, scheduler, onFault })
  let isUp = false
  const watching = isUp$.subscribe((value) => (isUp = value))
  watching.add(withdrawals.received$.subscribe({ next: (withdrawal) => replica.withdraw(withdrawal), error: onFault }))
  const close = (): void => {
    watching.unsubscribe()
    following.close()
    replica.close()
  }
  await firstValueFrom(following.isRead$.pipe(filter(Boolean), timeout({ first: openWithinMs, scheduler }))).catch(
    () => {
      close()
      const cause = following.lastError()
      throw new SpeechError('connection-failed', `The bucket ${bucket.name} could not be read in time.`, { cause })
    },
  )

  /** Errors of the servers as `overloaded`, without their text. */
  const confirmed = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (!isUp) throw unreachable()
    try {
      return await work()
    } catch (cause) {
      if (isSpeechError(cause)) throw cause
      throw isUp ? unconfirmed(cause) : unreachable(cause)
    }
  }

  /** Writes an entry; this process sees it at once. */
  const write = async (key: string, value: string, revision: number): Promise<boolean> => {
    const written = await bucket.write(key, value, revision)
    if (written === 'conflict') return false
    replica.apply({ key, value, revision: written })
    return true
  }

  /** Writes an entry unless there is one; then it takes that one and resolves with false. */
  const add = async (key: string, value: string): Promise<boolean> => {
    const entry = await bucket.get(key)
    if (entry?.value === undefined && (await write(key, value, entry?.revision ?? 0))) return true
    const existing = await bucket.get(key)
    if (existing?.value !== undefined) replica.apply(existing)
    return false
  }

  /** Changes the newest version of a client. Resolves with false when there is none. */
  const change = (clientId: string, changed: (client: StoredClient) => StoredClient): Promise<boolean> =>
    confirmed(async () => {
      const key = keyOf({ kind: 'client', clientId })
      for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
        const entry = await bucket.get(key)
        if (entry?.value === undefined) return false
        const client = decodeClient(clientId, entry.value)
        if (client === undefined) throw ofNewerVersion(clientId)
        if (await write(key, encodeClient(changed(client)), entry.revision)) return true
      }
      throw contended(clientId)
    })

  return {
    find: (clientId) => replica.find(clientId),
    list: () => replica.list(),
    isRevoked: (tokenId) => replica.isRevoked(tokenId),
    revoked: () => replica.revoked(),
    version: () => replica.version,
    changed$: replica.changed$,
    ageMs: following.ageMs,
    stale$: interval(checkAgeMs, scheduler).pipe(
      map(() => following.ageMs() > staleAfterMs),
      startWith(false),
      distinctUntilChanged(),
      skip(1),
    ),
    add: async (client) => {
      const { clientId } = validateClient(client)
      await confirmed(async () => {
        if (await add(keyOf({ kind: 'client', clientId }), encodeClient(client))) return
        throw new SpeechError('invalid-options', `The subscription ${JSON.stringify(clientId)} already exists.`)
      })
    },
    cancel: async (clientId) => {
      const isKnown = await change(clientId, (client) => ({ ...client, cancelled: true }))
      if (isKnown) withdrawals.publish({ clientId })
      return isKnown
    },
    replaceSecret: (clientId, secretHash, previousUntilMs) =>
      change(clientId, ({ previousSecret: _ended, ...client }) => ({
        ...client,
        secretHash,
        ...(previousUntilMs !== undefined && {
          previousSecret: { hash: client.secretHash, untilMs: previousUntilMs },
        }),
      })),
    setTokenLifetime: async (clientId, seconds) => {
      if (seconds !== undefined) checkTokenLifetime(seconds)
      return change(clientId, ({ tokenLifetimeSeconds: _replaced, ...client }) => ({
        ...client,
        ...(seconds !== undefined && { tokenLifetimeSeconds: seconds }),
      }))
    },
    revoke: (tokenId, untilMs = now() + revocationLifetimeMs) =>
      confirmed(async () => {
        const expired = [...replica.revoked()].filter(([, endsAtMs]) => endsAtMs <= now()).map(([id]) => id)
        const running = replica.revoked().size - expired.length
        if (!replica.isRevoked(tokenId) && running >= maxRevocations) throw tooManyRevocations()
        await add(keyOf({ kind: 'revocation', tokenId }), encodeRevocation(untilMs))
        withdrawals.publish({ tokenId, untilMs })
        const forgotten = expired.filter((id) => id !== tokenId).slice(0, maxForgotten)
        await bucket.forget(forgotten.map((id) => keyOf({ kind: 'revocation', tokenId: id }))).then(() => {
          replica.forget(forgotten)
        }, onFault)
      }),
    close,
  }
}

const unreachable = (cause?: unknown): SpeechError =>
  new SpeechError(
    'overloaded',
    'The NATS servers of identity.nats cannot be reached, so nothing was changed; try again.',
    {
      cause,
    },
  )

const unconfirmed = (cause: unknown): SpeechError =>
  new SpeechError(
    'overloaded',
    'The NATS servers of identity.nats have not confirmed the change, which may have been made; check it, and try again.',
    { cause },
  )

const contended = (clientId: string): SpeechError =>
  new SpeechError(
    'overloaded',
    `Other processes change the subscription ${JSON.stringify(clientId)} at the same time; try again.`,
  )

const ofNewerVersion = (clientId: string): SpeechError =>
  new SpeechError(
    'invalid-options',
    `The subscription ${JSON.stringify(clientId)} is damaged, or was written by a newer rxspeech; install that one.`,
  )
