import {
  BehaviorSubject,
  catchError,
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
  retry,
  switchMap,
  takeUntil,
  tap,
  timeout,
  timer,
  Subject,
  type Observable,
  type SchedulerLike,
} from 'rxjs'
import { SpeechError } from '../../../errors/speech-error.js'
import type { Bucket, BucketState } from './bucket.js'
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
/** How long all entries may take. */
const readWithinMs = 30_000

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
 * Keeps a replica equal to its bucket. With each connection everything since the last revision is read, so that no change is
 * lost however long the servers were away. Each second the revision of the bucket is asked for: when the watch is silent
 * although there are changes, or the bucket is another one, all entries are read again.
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
  /** Whether everything up to `revision` is known. */
  let isCurrent = false

  const begin = (state: BucketState): void => {
    if (createdAt !== undefined && (createdAt !== state.createdAt || state.revision < revision)) {
      onFault(replaced(bucket.name))
      replica.restartRevisions()
      revision = 0
      isCurrent = false
    }
    createdAt = state.createdAt
    behindSince = undefined
  }

  const read = (state: BucketState, askedAtMs: number): void => {
    // The last change may have been forgotten since; then no entry has its revision.
    revision = Math.max(revision, state.revision)
    confirmedAtMs = askedAtMs
    isCurrent = true
    const { missing } = replica
    if (missing > 0) onFault(incomplete(bucket.name, missing))
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

  /** Reads the bucket once and follows it; fails when it has to be read again. */
  const connection$ = askState().pipe(
    switchMap(({ state, askedAtMs }) => {
      begin(state)
      const isComplete$ = new Subject<undefined>()
      const late$ = timer(readWithinMs, scheduler).pipe(
        map(() => {
          throw outdated()
        }),
        takeUntil(isComplete$),
      )
      const entries$ = bucket.watch(isCurrent ? revision : 0).pipe(
        tap((event) => {
          if (event === 'read') {
            read(state, askedAtMs)
            isComplete$.next(undefined)
            return
          }
          revision = Math.max(revision, event.revision)
          if (!replica.apply(event)) onFault(unreadable(bucket.name, event.key))
        }),
      )
      const checks$ = isComplete$.pipe(
        switchMap(() => interval(checkEveryMs, scheduler)),
        // Without an answer the replica only gets older.
        exhaustMap(() => askState().pipe(catchError(() => EMPTY))),
        tap(check),
      )
      return merge(checks$, late$, entries$)
    }),
    ignoreElements(),
  )

  const tryAgain = (error: unknown): Observable<unknown> => {
    lastError = error
    isCurrent = false
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

const outdated = (): SpeechError => new SpeechError('connection-lost', 'The bucket has to be read again.')

const replaced = (name: string): SpeechError =>
  new SpeechError(
    'internal',
    `The bucket ${name} was created again, or restored from an older copy. What it lacks stays known here until the restart.`,
  )

const incomplete = (name: string, count: number): SpeechError =>
  new SpeechError(
    'internal',
    `The bucket ${name} lacks ${count} entries that it had before; restore it, for instance with rxspeech identity migrate.`,
  )

/** The key can name a client or a token, but no secret. */
const unreadable = (name: string, key: string): SpeechError =>
  new SpeechError(
    'internal',
    `The entry ${key} of the bucket ${name} is damaged, or of a newer rxspeech: its client is unknown, or its token revoked.`,
  )
