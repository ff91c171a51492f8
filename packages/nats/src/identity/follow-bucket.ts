import {
  BehaviorSubject,
  catchError,
  concatWith,
  defer,
  distinctUntilChanged,
  EMPTY,
  exhaustMap,
  filter,
  finalize,
  from,
  ignoreElements,
  interval,
  map,
  merge,
  repeat,
  retry,
  Subject,
  switchMap,
  takeUntil,
  tap,
  timeout,
  timer,
  type Observable,
  type SchedulerLike,
} from 'rxjs'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { Bucket, BucketEntry, BucketEvent, BucketState } from './bucket.js'
import { BucketAudit } from './bucket-audit.js'
import { BucketPosition } from './bucket-position.js'
import type { IdentityReplica } from './identity-replica.js'

export interface FollowOptions {
  readonly bucket: Bucket
  readonly replica: IdentityReplica
  /** Whether the connection stands. */
  readonly isUp$: Observable<boolean>
  readonly scheduler: SchedulerLike
  /** Called with problems that no caller waits for. */
  readonly onFault: (error: unknown) => void
}

/** How often the replica is compared with the bucket, and how long after a failure it is read again. */
const checkEveryMs = 1_000
const checkWithinMs = 2_000
/** How long no entry may come while all of them are read. A server that has lost the others may deliver none. */
const stalledAfterMs = 5_000

/** The state of a replica. */
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
 * Keeps a replica equal to its bucket. With each connection all entries are read, so that no change is lost however
 * long the servers were away. Each second the state of the bucket is asked for: when the watch is silent although there
 * are changes, or the bucket is another one, all entries are read again. Beside that, audits find what the servers have
 * lost.
 */
export const followBucket = ({ bucket, replica, isUp$, scheduler, onFault }: FollowOptions): Following => {
  const isRead$ = new BehaviorSubject(false)
  const closed$ = new Subject<undefined>()
  const position = new BucketPosition()
  let confirmedAtMs = -Infinity
  let lastError: unknown

  const entries$ = watchEntries(bucket, scheduler)
  const take = (entry: BucketEntry): void => {
    if (!replica.apply(entry)) onFault(unreadable(bucket.name, entry.key))
  }
  const audit = new BucketAudit({ bucket, replica, entries$, take, onFault })

  const begin = (state: BucketState): void => {
    const start = position.begin(state)
    if (start === 'replaced') onFault(replaced(bucket.name))
    if (start !== 'continued') replica.restartRevisions()
  }
  const completeReading = ({ state, askedAtMs }: Answer): void => {
    if (!position.isComplete(state)) throw outdated()
    confirmedAtMs = askedAtMs
    isRead$.next(true)
  }
  const check = ({ state, askedAtMs, askedAtRevision }: Answer): void => {
    const comparison = position.compare(state, askedAtRevision)
    if (comparison === 'lost') throw outdated()
    if (comparison === 'current') confirmedAtMs = askedAtMs
  }

  const answer$ = defer(() => {
    const asked = { askedAtMs: scheduler.now(), askedAtRevision: position.revision }
    return from(bucket.state()).pipe(
      timeout({ first: checkWithinMs, scheduler }),
      map((state): Answer => ({ state, ...asked })),
    )
  })
  const checks$ = interval(checkEveryMs, scheduler).pipe(
    // Without an answer the replica only gets older.
    exhaustMap(() => answer$.pipe(catchError(() => EMPTY))),
    tap(check),
  )
  const audits$ = defer(() => timer(audit.delayMs, scheduler)).pipe(
    // What fails is tried again with the next audit.
    concatWith(audit.run$.pipe(catchError(() => EMPTY))),
    repeat(),
  )

  /** Reads the bucket once and follows it; fails when it has to be read again. */
  const connection$ = answer$.pipe(
    tap(({ state }) => begin(state)),
    switchMap((answer) =>
      entries$.pipe(
        tap((event) => {
          if (event === 'read') completeReading(answer)
          else {
            position.advance(event.revision)
            take(event)
          }
        }),
      ),
    ),
    filter((event) => event === 'read'),
    switchMap(() => merge(checks$, audits$)),
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

/** The state of the bucket, when it was asked for, and the position at that time. */
interface Answer {
  readonly state: BucketState
  readonly askedAtMs: number
  readonly askedAtRevision: number
}

/** The watch of a bucket, which fails when no entry comes for a while before all were read. */
const watchEntries = (bucket: Bucket, scheduler: SchedulerLike): Observable<BucketEvent> =>
  defer(() => {
    const read$ = new Subject<undefined>()
    let hasDelivered = false
    const stalled$ = interval(stalledAfterMs, scheduler).pipe(
      tap(() => {
        if (!hasDelivered) throw outdated()
        hasDelivered = false
      }),
      ignoreElements(),
      takeUntil(read$),
    )
    const events$ = bucket.watch().pipe(
      tap((event) => {
        hasDelivered = true
        if (event === 'read') read$.next(undefined)
      }),
    )
    return merge(stalled$, events$)
  })

const outdated = (): SpeechError => new SpeechError('connection-lost', 'The bucket has to be read again.')

const replaced = (name: string): SpeechError =>
  new SpeechError('internal', `The bucket ${name} was created again. What it lacks stays known here until the restart.`)

/** The key can name a client or a token, but no secret. */
const unreadable = (name: string, key: string): SpeechError =>
  new SpeechError(
    'internal',
    `The entry ${key} of the bucket ${name} is damaged, or of a newer rxspeech: its client is unknown, or its token revoked.`,
  )
