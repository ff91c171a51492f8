import {
  asyncScheduler,
  defer,
  expand,
  filter,
  ignoreElements,
  map,
  merge,
  NEVER,
  of,
  ReplaySubject,
  retry,
  share,
  Subject,
  switchMap,
  take,
  tap,
  throwError,
  throwIfEmpty,
  type MonoTypeOperatorFunction,
  type Observable,
  type SchedulerLike,
} from 'rxjs'
import { isSpeechError, SpeechError } from '../errors/speech-error.js'
import type { Token } from '../protocol/token.js'
import { checkOptions, number, observableValue, optionsOf, schedulerValue } from '../protocol/validation.js'
import { backoffMs } from '../kernel/backoff.js'
import { longTimer } from '../kernel/timers.js'

/** When `keepFresh` renews a token. */
export interface KeepFreshOptions {
  /**
   * How long before a token expires its renewal begins, in milliseconds; at most half its life.
   * @default a tenth of its life, at most a day
   */
  readonly renewBeforeMs?: number | undefined
  /** Wait after the first failed renewal, in milliseconds; it doubles with each further one. @default 1000 */
  readonly firstRetryMs?: number | undefined
  /** The longest wait between failed renewals, in milliseconds; a `Retry-After` may be longer. @default 60_000 */
  readonly maxRetryMs?: number | undefined
  /**
   * Tokens that the service refused. If one is the current token, that is dropped and another is requested at once.
   * Others are ignored, so that many sessions that were refused with one token cause one request. @default none
   */
  readonly rejected$?: Observable<Pick<Token, 'accessToken'>> | undefined
  /** The clock, the same as that of the source. @default asyncScheduler */
  readonly scheduler?: SchedulerLike | undefined
}

const keepFreshOptions = optionsOf<KeepFreshOptions>()(
  {},
  {
    renewBeforeMs: number({ min: 0 }),
    firstRetryMs: number({ min: 1 }),
    maxRetryMs: number({ min: 1 }),
    rejected$: observableValue,
    scheduler: schedulerValue,
  },
)

/** The state of the shared stream: a valid token, or none while one is requested. */
type Held = { readonly type: 'none' } | { readonly type: 'token'; readonly token: Token; readonly renewAtMs: number }
type Living = Extract<Held, { readonly type: 'token' }>

const none: Held = { type: 'none' }

/**
 * Keeps one token for all: emits the current one, and each that replaces it before it expires.
 *
 * The source is cold and requests one token for each subscription, as `requestToken` does; only its first value counts.
 * - Sharing: all subscribers share one token and one request, and a late one gets the current token at once. When the
 *   last one unsubscribes, timers and a pending request end, but the token is remembered until it expires. So any
 *   number of sessions with `take(1)` for each attempt cause one request, and nothing keeps a process alive that has no
 *   session.
 * - Renewal: see `renewBeforeMs`. When it fails, the old token remains: a retryable error is retried with growing
 *   waits, at least its `retryAfterMs`; after one that is not retryable there are no more requests. When the token
 *   expires without a renewal, the stream errors with the last error, or with `token-timeout` if the request is not
 *   answered yet.
 * - Error: a failed request without a valid token (the first one, after expiry, after a rejection) errors the stream at
 *   once. The next subscriber starts again, so `retry` behind this operator works.
 * - Completion: never. A source that completes without a token is the error `token-endpoint-failed`.
 * - Buffered: one token.
 *
 * Throws `invalid-options` when it is called with a time that is negative or not a number.
 *
 * @example
 * const rejected$ = new Subject<Pick<Token, 'accessToken'>>()
 * const token = requestToken({ authUrl, clientId, clientSecret }).pipe(keepFresh({ rejected$ }))
 * audio$.pipe(recognize({ ...options, token, rejected$ })).subscribe()
 */
export const keepFresh = (options: KeepFreshOptions = {}): MonoTypeOperatorFunction<Token> => {
  checkOptions(keepFreshOptions, options)
  const { rejected$ = NEVER, scheduler = asyncScheduler } = options
  const timing = timingOf(options)
  return (source$) => {
    const overdue$ = new Subject<Token>()
    let remembered: Held = none
    const held$ = defer(() => {
      const start = isAlive(remembered, scheduler) ? remembered : none
      return holding(start, source$, merge(rejected$, overdue$), timing, scheduler)
    }).pipe(
      tap((held) => (remembered = held)),
      share({ connector: () => new ReplaySubject<Held>(1) }),
    )
    return defer(() => {
      // Timers stop while the machine sleeps: a subscriber that comes before they fire must not get the expired token.
      if (remembered.type === 'token' && !isAlive(remembered, scheduler)) overdue$.next(remembered.token)
      return held$.pipe(
        filter((held) => held.type === 'token'),
        map(({ token }) => token),
      )
    })
  }
}

type Dropped = Pick<Token, 'accessToken'>

/** The one shared run: from `start` on, each state and the one that replaces it. */
function holding(
  start: Held,
  source$: Observable<Token>,
  drop$: Observable<Dropped>,
  timing: Timing,
  scheduler: SchedulerLike,
): Observable<Held> {
  let lastDropped: string | undefined
  const dropped$ = drop$.pipe(
    tap(({ accessToken }) => (lastDropped = accessToken)),
    share(),
  )
  const request$ = requestOne(source$, timing, scheduler).pipe(
    // A drop counts for the current token; an endpoint may issue the same one again.
    tap(() => (lastDropped = undefined)),
  )
  function replacement(held: Held): Observable<Held> {
    if (held.type === 'none') return request$
    // It may have been dropped during its emission, before this subscription.
    if (lastDropped === held.token.accessToken) return of(none)
    return merge(renewal(held, request$, timing, scheduler), rejection(held, dropped$)).pipe(take(1))
  }
  return merge(dropped$.pipe(ignoreElements()), of(start).pipe(expand(replacement)))
}

const isAlive = (held: Held, scheduler: SchedulerLike): boolean =>
  held.type === 'token' && held.token.expiresAtMs > scheduler.now()

function requestOne(source$: Observable<Token>, timing: Timing, scheduler: SchedulerLike): Observable<Living> {
  return source$.pipe(
    take(1),
    throwIfEmpty(() => new SpeechError('token-endpoint-failed', 'The source of tokens completed without a token.')),
    map((token) => {
      const lifeMs = token.expiresAtMs - scheduler.now()
      // Written so that an expiry that is not a number is refused too.
      if (lifeMs > 0) return { type: 'token', token, renewAtMs: token.expiresAtMs - timing.renewBeforeMs(lifeMs) }
      throw new SpeechError('token-endpoint-failed', 'The token had already expired when it arrived; check the clocks.')
    }),
  )
}

/** Emits what replaces the old token, or errors when that expires before. */
function renewal(
  old: Living,
  request$: Observable<Living>,
  timing: Timing,
  scheduler: SchedulerLike,
): Observable<Held> {
  return defer(() => {
    let lastError: unknown = new SpeechError('token-timeout', 'The token expired before its renewal was answered.')
    function waiting(error: unknown, failures: number): Observable<void> {
      return isRetryable(error) ? longTimer(timing.waitMs(error, failures), scheduler) : NEVER
    }
    const renewed$ = longTimer(old.renewAtMs - scheduler.now(), scheduler).pipe(
      switchMap(() =>
        request$.pipe(tap({ error: (error: unknown) => (lastError = error) }), retry({ delay: waiting })),
      ),
    )
    const expired$ = longTimer(old.token.expiresAtMs - scheduler.now(), scheduler).pipe(
      switchMap(() => throwError(() => lastError)),
    )
    return merge(renewed$, expired$)
  })
}

function rejection(current: Living, dropped$: Observable<Dropped>): Observable<Held> {
  return dropped$.pipe(
    filter(({ accessToken }) => accessToken === current.token.accessToken),
    map(() => none),
  )
}

/** Any other error does not say whether it is retryable; expiry bounds the attempts. */
const isRetryable = (error: unknown): boolean => !isSpeechError(error) || error.retryable

const dayMs = 24 * 60 * 60 * 1000

interface Timing {
  readonly renewBeforeMs: (lifeMs: number) => number
  readonly waitMs: (error: unknown, failures: number) => number
}

/** One request serves all sessions of a process, so there is nothing to spread. */
const withoutJitter = (): number => 1

const timingOf = ({ renewBeforeMs, firstRetryMs = 1000, maxRetryMs = 60_000 }: KeepFreshOptions): Timing => {
  return {
    renewBeforeMs: (lifeMs) => Math.min(renewBeforeMs ?? Math.min(lifeMs / 10, dayMs), lifeMs / 2),
    waitMs: (error, failures) => {
      const askedMs = isSpeechError(error) ? (error.retryAfterMs ?? 0) : 0
      return Math.max(
        askedMs,
        backoffMs({ firstDelayMs: firstRetryMs, maxDelayMs: maxRetryMs }, failures, withoutJitter),
      )
    },
  }
}
