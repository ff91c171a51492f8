import {
  BehaviorSubject,
  catchError,
  concatWith,
  defer,
  distinctUntilChanged,
  EMPTY,
  exhaustMap,
  finalize,
  from,
  ignoreElements,
  interval,
  map,
  merge,
  repeat,
  retry,
  switchMap,
  takeUntil,
  takeWhile,
  tap,
  timeout,
  timer,
  Subject,
  type Observable,
  type SchedulerLike,
} from 'rxjs'
import { SpeechError } from '../../../errors/speech-error.js'
import type { Bucket, BucketEntry, BucketState } from './bucket.js'
import type { IdentityReplica } from './identity-replica.js'

export interface FollowOptions {
  readonly bucket: Bucket
  readonly replica: IdentityReplica
  /** Whether the connection stands. */
  readonly isUp$: Observable<boolean>
  readonly scheduler: SchedulerLike
  /** Called with problems that nobody waits for. */
  readonly onFault: (error: unknown) => void
}

/** How often the replica is compared with the bucket, and how long after a failure it is read again. */
const checkEveryMs = 1_000
const checkWithinMs = 2_000
/** How long no entry may come while all of them are read. A server that has lost the others may deliver none. */
const stalledAfterMs = 5_000
/** How often all entries are read again, at most, and how long after so many of them. */
const auditEveryMs = 10_000
const auditMsPerEntry = 2
/** How many entries one audit writes again. */
const maxRestored = 1_000

/** The state of the bucket, when it was asked for, and what was known then. */
interface Answer {
  readonly state: BucketState
  readonly askedAtMs: number
  readonly knownRevision: number
}

/** What a replica knows of its bucket. */
export interface Following {
  /** Whether the replica has had all entries once. */
  readonly isRead$: Observable<boolean>
  /** How long ago the replica was last known to have every change; milliseconds, `Infinity` before it was read. */
  readonly ageMs: () => number
  /** Why the bucket was last read again. */
  readonly lastError: () => unknown
  readonly close: () => void
}

/**
 * Keeps a replica equal to its bucket. With each connection all entries are read, so that no change is lost however long the
 * servers were away. Each second the revision of the bucket is asked for: when the watch is silent although there are
 * changes, or the bucket is another one, all entries are read again.
 *
 * Servers that lost each other can deliver less than they have, number two changes alike, and even lose a change that they
 * confirmed, so revisions alone prove nothing. Therefore all entries are also read every 10 s, or more rarely when there are
 * many, and what takes rights away is written again if the bucket lacks it.
 */
export const followBucket = (options: FollowOptions): Following => {
  const { bucket, replica, isUp$, scheduler, onFault } = options
  const isRead$ = new BehaviorSubject(false)
  const closed$ = new Subject<undefined>()
  let confirmedAtMs = -Infinity
  let createdAt: string | undefined
  let revision = 0
  let behindSince: number | undefined
  let lastError: unknown
  /** The last revision that a complete reading did not deliver. */
  let undelivered: number | undefined
  /** Clients that the last audit did not find in the bucket, and how many of them were reported. */
  let absent: ReadonlySet<string> = new Set()
  let reported = 0

  const begin = (state: BucketState): void => {
    const isReplaced = createdAt !== undefined && createdAt !== state.createdAt
    if (isReplaced) onFault(replaced(bucket.name))
    // With a lower revision it was restored from an older copy, or its leader has lost changes, or is none any more.
    if (isReplaced || state.revision < revision) {
      replica.restartRevisions()
      revision = 0
    }
    createdAt = state.createdAt
    behindSince = undefined
  }

  const read = (state: BucketState, askedAtMs: number): void => {
    if (revision < state.revision) {
      // The server that delivers lags behind the leader, or the last change was forgotten, and no entry has its revision.
      if (undelivered !== state.revision) {
        undelivered = state.revision
        throw outdated()
      }
      revision = state.revision
    }
    confirmedAtMs = askedAtMs
    isRead$.next(true)
  }

  /** Fails when the watch has not delivered a change for a second, and when the bucket was replaced. */
  const check = ({ state, askedAtMs, knownRevision }: Answer): void => {
    if (state.createdAt !== createdAt || state.revision < knownRevision) throw outdated()
    if (revision >= state.revision) {
      confirmedAtMs = askedAtMs
      behindSince = undefined
    } else if (behindSince === undefined) behindSince = state.revision
    else if (revision < behindSince) throw outdated()
    else behindSince = state.revision
  }

  const askState = (): Observable<Answer> =>
    defer(() => {
      const askedAtMs = scheduler.now()
      const knownRevision = revision
      return from(bucket.state()).pipe(
        timeout({ first: checkWithinMs, scheduler }),
        map((state) => ({ state, askedAtMs, knownRevision })),
      )
    })

  const take = (entry: BucketEntry): void => {
    if (!replica.apply(entry)) onFault(unreadable(bucket.name, entry.key))
  }

  /** Fails when a reading has no more entries than before. */
  const stalled = (entries: () => number): Observable<never> =>
    defer(() => {
      let before = 0
      return interval(stalledAfterMs, scheduler).pipe(
        tap(() => {
          if (entries() === before) throw outdated()
          before = entries()
        }),
        ignoreElements(),
      )
    })

  /** Writes what takes rights away and the bucket lacks; gives up at the first that is not confirmed. */
  const restore = async (entries: ReadonlyMap<string, BucketEntry>): Promise<void> => {
    let count = 0
    try {
      for (const { key, value, revision: previous } of replica.lostIn(entries).slice(0, maxRestored)) {
        const written = await bucket.write(key, value, previous)
        // Otherwise only the server of this reading lacks it.
        if (written !== 'conflict') count += 1
      }
    } finally {
      if (count > 0) onFault(restored(bucket.name, count))
    }
  }

  const reportAbsent = (entries: ReadonlyMap<string, BucketEntry>): void => {
    const now = replica.clientsNotIn(entries)
    // The server of one reading may lag.
    const count = now.filter((key) => absent.has(key)).length
    if (count > reported) onFault(incomplete(bucket.name, count))
    absent = new Set(now)
    reported = count
  }

  /** Reads all entries beside the watch, perhaps from another server. What fails is tried again with the next audit. */
  const audit$ = defer(() => {
    const entries = new Map<string, BucketEntry>()
    return merge(
      stalled(() => entries.size),
      bucket.watch(),
    ).pipe(
      takeWhile((event) => event !== 'read'),
      tap((entry) => {
        entries.set(entry.key, entry)
        take(entry)
      }),
      ignoreElements(),
      concatWith(defer(() => restore(entries))),
      tap({ complete: () => reportAbsent(entries) }),
    )
  }).pipe(catchError(() => EMPTY))

  /** Reads the bucket once and follows it; fails when it has to be read again. */
  const connection$ = askState().pipe(
    switchMap(({ state, askedAtMs }) => {
      begin(state)
      const isComplete$ = new Subject<undefined>()
      let count = 0
      const entries$ = bucket.watch().pipe(
        tap((event) => {
          if (event === 'read') {
            read(state, askedAtMs)
            isComplete$.next(undefined)
            return
          }
          count += 1
          revision = Math.max(revision, event.revision)
          take(event)
        }),
      )
      const checks$ = isComplete$.pipe(
        switchMap(() => interval(checkEveryMs, scheduler)),
        // Without an answer the replica only gets older.
        exhaustMap(() => askState().pipe(catchError(() => EMPTY))),
        tap(check),
      )
      const audits$ = isComplete$.pipe(
        switchMap(() => defer(() => timer(auditMs(replica.size), scheduler)).pipe(concatWith(audit$), repeat())),
      )
      const stalled$ = stalled(() => count).pipe(takeUntil(isComplete$))
      return merge(checks$, audits$, stalled$, entries$)
    }),
    ignoreElements(),
  )

  const tryAgain = (error: unknown): Observable<unknown> => {
    lastError = error
    return timer(checkEveryMs, scheduler)
  }

  isUp$
    .pipe(
      distinctUntilChanged(),
      switchMap((isUp) => (isUp ? connection$.pipe(retry({ delay: tryAgain })) : EMPTY)),
      finalize(() => isRead$.complete()),
      takeUntil(closed$),
    )
    .subscribe({ error: onFault })

  return {
    isRead$: isRead$.asObservable(),
    ageMs: () => Math.max(0, scheduler.now() - confirmedAtMs),
    lastError: () => lastError,
    close: () => closed$.next(undefined),
  }
}

const auditMs = (entries: number): number => Math.max(auditEveryMs, auditMsPerEntry * entries)

const outdated = (): SpeechError => new SpeechError('connection-lost', 'The bucket has to be read again.')

const replaced = (name: string): SpeechError =>
  new SpeechError('internal', `The bucket ${name} was created again. What it lacks stays known here until the restart.`)

const restored = (name: string, count: number): SpeechError =>
  new SpeechError(
    'internal',
    `The bucket ${name} lacked ${count} revocations or cancellations that are known here; they were written again.`,
  )

const incomplete = (name: string, count: number): SpeechError =>
  new SpeechError(
    'internal',
    `The bucket ${name} lacks ${count} clients that are known here; restore it, for instance with rxspeech identity migrate.`,
  )

/** The key can name a client or a token, but no secret. */
const unreadable = (name: string, key: string): SpeechError =>
  new SpeechError(
    'internal',
    `The entry ${key} of the bucket ${name} is damaged, or of a newer rxspeech: its client is unknown, or its token revoked.`,
  )
