import type * as Kv from '@nats-io/kv'
import { defer, firstValueFrom, Observable, retry, throwError, timer, type SchedulerLike } from 'rxjs'
import { codeOf, SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { NatsConnection } from '../connection/connection.js'

/** The latest value of a key. */
export interface BucketEntry {
  readonly key: string
  /** Undefined after the key was deleted. */
  readonly value: string | undefined
  /** Rises with each change in the bucket. */
  readonly revision: number
}

/** The state of a bucket at the servers. */
export interface BucketState {
  /** Differs when the bucket was deleted and created again. */
  readonly createdAt: string
  /** The revision of the last change. */
  readonly revision: number
}

/** A change of the bucket, or that all entries of the time of the subscription have been emitted. */
export type BucketEvent = BucketEntry | 'read'

/**
 * A key-value bucket, which all machines of a service share. Promises reject when the servers cannot be reached or do
 * not answer in time.
 */
export interface Bucket {
  readonly name: string
  readonly state: () => Promise<BucketState>
  /**
   * All entries, then `read`, then each change. They come from any server of the cluster, which may lag behind the
   * others. Never completes; fails when it can no longer follow the bucket.
   */
  readonly watch: () => Observable<BucketEvent>
  readonly get: (key: string) => Promise<BucketEntry | undefined>
  /**
   * Sets the value if `revision` is still that of the key's entry, 0 for a key without entry. Returns the new revision,
   * or `conflict` without a change.
   */
  readonly write: (key: string, value: string, revision: number) => Promise<number | 'conflict'>
  /** Removes all trace of the keys; watchers get no event. */
  readonly forget: (keys: readonly string[]) => Promise<void>
}

export interface BucketOptions {
  readonly name: string
  /** How many servers of the cluster store it, when it is created. */
  readonly replicas: number
  /** How long it is tried again while the servers have no leader, in milliseconds. */
  readonly openWithinMs: number
  readonly scheduler: SchedulerLike
}

/** How long the servers may take for one answer. */
const answerWithinMs = 5_000
const openAgainMs = 500
/** Error code 10071 of JetStream: the revision was not the last one of the key. */
const wrongRevision = 10_071
/**
 * Error codes of JetStream while servers that have started, or had lost each other, elect a leader: no server for the
 * bucket yet, temporarily unavailable, not the leader, and the bucket's own servers away.
 */
const passingCodes: readonly unknown[] = [10_005, 10_008, 10_009, 10_118]

/**
 * Opens a bucket of JetStream, and creates it if it does not exist; tries again while the servers elect a leader.
 * Rejects with `invalid-options` when the servers or the user have no JetStream, with `missing-dependency`, and with
 * `connection-failed`.
 */
export const openBucket = async (
  connection: NatsConnection,
  { name, replicas, openWithinMs, scheduler }: BucketOptions,
): Promise<Bucket> => {
  const [{ Kvm }, { jetstream }] = await Promise.all([import('@nats-io/kv'), import('@nats-io/jetstream')])
  const client = jetstream(connection, { timeout: answerWithinMs })
  const description = 'subscriptions and revoked tokens of rxspeech'
  const opening = whilePassing(() => new Kvm(client).create(name, { history: 1, replicas, description }), {
    withinMs: openWithinMs,
    scheduler,
  })
  const store = await opening.catch((error: unknown) => {
    throw notOpened(name, error)
  })
  const manager = await client.jetstreamManager(false)
  return {
    name,
    state: async () => {
      const { streamInfo } = await store.status()
      return { createdAt: streamInfo.created, revision: streamInfo.state.last_seq }
    },
    watch: () => watch(store),
    get: async (key) => {
      const entry = await store.get(key)
      return entry === null ? undefined : entryOf(entry)
    },
    write: async (key, value, revision) => {
      try {
        return await store.put(key, value, { previousSeq: revision })
      } catch (error) {
        if (codeOf(error) === String(wrongRevision) || isWrongRevision(error)) return 'conflict'
        throw error
      }
    },
    forget: async (keys) => {
      for (const key of keys) await manager.streams.purge(`KV_${name}`, { filter: `$KV.${name}.${key}` })
    },
  }
}

/** Repeats a request to JetStream that fails as while a leader is elected. The last attempt begins within the time. */
export const whilePassing = <Result>(
  request: () => Promise<Result>,
  { withinMs, scheduler }: { readonly withinMs: number; readonly scheduler: SchedulerLike },
): Promise<Result> => {
  const untilMs = scheduler.now() + withinMs
  return firstValueFrom(
    defer(request).pipe(
      retry({
        delay: (error: unknown) =>
          isPassing(error) && scheduler.now() + openAgainMs <= untilMs
            ? timer(openAgainMs, scheduler)
            : throwError(() => error),
      }),
    ),
  )
}

/** The client package, whose classes are loaded only with a bucket, names an answer that did not come in time so. */
const isPassing = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'TimeoutError' || ('code' in error && passingCodes.includes(error.code)))

const isWrongRevision = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === wrongRevision

const entryOf = (entry: Kv.KvEntry): BucketEntry => ({
  key: entry.key,
  value: entry.operation === 'PUT' ? entry.string() : undefined,
  revision: entry.revision,
})

const watch = (store: Kv.KV): Observable<BucketEvent> =>
  new Observable((subscriber) => {
    let stop = (): void => undefined
    subscriber.add(() => stop())
    const follow = async (): Promise<void> => {
      // Read before the watch begins: everything up to it is among the first entries.
      const { values } = await store.status()
      if (subscriber.closed) return
      const entries = await store.watch()
      stop = () => entries.stop()
      if (subscriber.closed) {
        stop()
        return
      }
      let isRead = values === 0
      if (isRead) subscriber.next('read')
      for await (const entry of entries) {
        subscriber.next(entryOf(entry))
        // The number of entries that are still to come; later changes have 0 as well.
        if (!isRead && (entry.delta ?? 0) === 0) {
          isRead = true
          subscriber.next('read')
        }
      }
      throw new SpeechError('connection-lost', 'The bucket is no longer watched.')
    }
    follow().catch((error: unknown) => subscriber.error(error))
  })

const notOpened = (name: string, cause: unknown): SpeechError => {
  const reason = cause instanceof Error ? cause.message : 'unknown'
  return /jetstream (is )?not enabled|no responders|permissions violation/i.test(reason)
    ? new SpeechError(
        'invalid-options',
        `The bucket ${name} cannot be opened (${reason}); NATS needs JetStream, for the account and the user of identity.nats.`,
        { cause },
      )
    : new SpeechError('connection-failed', `The bucket ${name} cannot be opened (${reason}).`, { cause })
}
