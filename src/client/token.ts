import {
  defaultIfEmpty,
  defer,
  filter,
  from,
  map,
  of,
  take,
  tap,
  throwIfEmpty,
  pipe,
  type NextObserver,
  type Observable,
  type ObservableInput,
  type OperatorFunction,
  type SchedulerLike,
  catchError,
  EMPTY,
  merge,
  mergeMap,
  throwError,
  timer,
} from 'rxjs'
import { SpeechError } from '../errors/speech-error.js'
import type { Token } from '../protocol/token.js'

/** A token itself, or where one comes from: the first one that it emits is taken each time that the session needs one. */
export type TokenSource = string | Token | ObservableInput<string | Token>

/** Who is told of a token that the service refused; a `Subject` that is `rejected$` of `keepFresh` as well. */
export type RejectedTokens = NextObserver<Pick<Token, 'accessToken'>>

/** A token in hand; `fresh` unless it is the one that was refused. */
export interface TokenInHand {
  readonly accessToken: string
  readonly fresh: boolean
  /** When it ends, in milliseconds since 1970, where the source says so. */
  readonly expiresAtMs: number | undefined
}

/** A token that cannot change: asking again is no use. */
export const isFixedToken = (source: TokenSource): source is string | Token =>
  typeof source === 'string' || (typeof source === 'object' && 'accessToken' in source)

/**
 * Asks for a token once. After a refusal the source is asked anew, which for a cold one is a new request; one that
 * still has the refused token is told so by `rejected$` and may then emit another.
 *
 * Errors: what the source says; `unauthenticated` where it gives no token.
 */
const askToken = (source: TokenSource, refused?: string, rejected$?: RejectedTokens): Observable<TokenInHand> =>
  defer(() => (isFixedToken(source) ? of(source) : from(source))).pipe(
    map(presentable),
    refused === undefined || rejected$ === undefined ? pipe() : afterRejecting(refused, rejected$),
    take(1),
    map(({ accessToken, expiresAtMs }) => ({ accessToken, expiresAtMs, fresh: accessToken !== refused })),
    refused === undefined
      ? throwIfEmpty(() => new SpeechError('unauthenticated', 'The token source gave no token.'))
      : defaultIfEmpty({ accessToken: refused, expiresAtMs: undefined, fresh: false }),
  )

type Presentable = Omit<TokenInHand, 'fresh'>

const afterRejecting = (refused: string, rejected$: RejectedTokens): OperatorFunction<Presentable, Presentable> =>
  pipe(
    tap(({ accessToken }) => {
      if (accessToken === refused) rejected$.next({ accessToken })
    }),
    filter(({ accessToken }) => accessToken !== refused),
  )

/** Takes `unknown` on purpose: nothing holds a source to its type at run time, and what it gave must not be printed. */
const presentable = (token: unknown): Presentable => {
  const { accessToken, expiresAtMs } = (
    typeof token === 'object' && token !== null ? token : { accessToken: token }
  ) as {
    readonly accessToken?: unknown
    readonly expiresAtMs?: unknown
  }
  if (typeof accessToken !== 'string' || accessToken === '') {
    throw new SpeechError('unauthenticated', 'The token source gave something that is no token.')
  }
  return { accessToken, expiresAtMs: typeof expiresAtMs === 'number' ? expiresAtMs : undefined }
}

/** A token counts as near its end for this long before it, or for a twentieth of its life if that is less. */
const mostLeadMs = 60_000

/** The share of the time for a token, or of what is left of the one in hand, that its source may take meanwhile. */
const patience = 1 / 2

interface TokenSettings {
  readonly token: TokenSource
  readonly rejected$: RejectedTokens | undefined
  readonly scheduler: SchedulerLike
  readonly deadlines: { readonly authorizing: number }
}

/**
 * The token of one session, over all of its connections. A token in hand is used until it is refused or near its end, so
 * that an outage asks the source for nothing; and a source that fails, or says nothing, while the token in hand is still
 * good costs nothing.
 */
export class SessionToken {
  readonly #settings: TokenSettings
  #held: TokenInHand | undefined
  #renewAtMs = Infinity
  #refused: string | undefined

  constructor(settings: TokenSettings) {
    this.#settings = settings
  }

  /** A token for another connection: the one in hand unless it is near its end. */
  take(): Observable<TokenInHand> {
    return defer(() => {
      const isFarFromEnd = this.#settings.scheduler.now() < this.#renewAtMs
      return (isFarFromEnd ? this.#good() : undefined) ?? this.replace()
    })
  }

  /** A token that replaces the one in hand, which is near its end; that one again where there is no other. */
  replace(): Observable<TokenInHand> {
    const { token, scheduler, deadlines } = this.#settings
    return defer(() => {
      const asked$ = askToken(token).pipe(tap((one) => this.#hold(one)))
      if (this.#good() === undefined || isFixedToken(token)) return asked$
      const leftMs = (this.#held?.expiresAtMs ?? Infinity) - scheduler.now()
      const late$ = timer(Math.min(deadlines.authorizing, leftMs) * patience, scheduler).pipe(
        mergeMap(() => this.#good() ?? EMPTY),
      )
      const heldInstead$ = asked$.pipe(catchError((error: unknown) => this.#good() ?? throwError(() => error)))
      return merge(heldInstead$, late$).pipe(take(1))
    })
  }

  /** Another token than the one that the service refused; of the one before where an attempt at that has failed. */
  renew(refused = this.#refused): Observable<TokenInHand> {
    const { token, rejected$ } = this.#settings
    return defer(() => {
      this.#refused = refused
      if (this.#held?.accessToken === refused) this.#held = undefined
      return this.#good() ?? askToken(token, refused, rejected$).pipe(tap((one) => this.#hold(one)))
    })
  }

  #hold(token: TokenInHand): void {
    if (!token.fresh) return
    const nowMs = this.#settings.scheduler.now()
    const endsMs = token.expiresAtMs ?? Infinity
    this.#held = token
    this.#renewAtMs = endsMs - Math.min(mostLeadMs, (endsMs - nowMs) / 20)
  }

  #good(): Observable<TokenInHand> | undefined {
    const held = this.#held
    const endsMs = held?.expiresAtMs ?? Infinity
    return held !== undefined && endsMs > this.#settings.scheduler.now() ? of(held) : undefined
  }
}
