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

/** A token, or a source of tokens: its first token is taken each time that the session needs one. */
export type TokenSource = string | Token | ObservableInput<string | Token>

/** Gets each token that the service refused; the same `Subject` as `rejected$` of `keepFresh`. */
export type RejectedTokens = NextObserver<Pick<Token, 'accessToken'>>

/** A token; `fresh` unless it is the one that was refused. */
export interface TokenInHand {
  readonly accessToken: string
  readonly fresh: boolean
  /** When it expires, in milliseconds since 1970, if the source states it. */
  readonly expiresAtMs: number | undefined
}

/** A token that cannot change, so that asking again is of no use. */
export const isFixedToken = (source: TokenSource): source is string | Token =>
  typeof source === 'string' || (typeof source === 'object' && 'accessToken' in source)

/**
 * Asks for a token once. After a refusal the source is asked again, which for a cold one is a new request. A source that
 * still has the refused token gets it by `rejected$` and may then emit another.
 *
 * Errors: that of the source; `unauthenticated` if it emits no token.
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

/** Takes `unknown`, as a source may emit anything at run time. What it emitted is never printed. */
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

/** A token is renewed this long before it expires, or a twentieth of its life if that is less. */
const maxLeadMs = 60_000

/** The share of the deadline, or of the time that the present token has left, that its source may take meanwhile. */
const patience = 1 / 2

interface TokenSettings {
  readonly token: TokenSource
  readonly rejected$: RejectedTokens | undefined
  readonly scheduler: SchedulerLike
  readonly deadlines: { readonly authorizing: number }
}

/**
 * The token of one session, over all of its connections. The present token is used until it is refused or near its end, so
 * an outage does not ask the source. A source that fails or stays silent does no harm while the present token is valid.
 */
export class SessionToken {
  readonly #settings: TokenSettings
  #held: TokenInHand | undefined
  #renewAtMs = Infinity
  #refused: string | undefined

  constructor(settings: TokenSettings) {
    this.#settings = settings
  }

  /** A token for another connection: the present one unless it is near its end. */
  take(): Observable<TokenInHand> {
    return defer(() => {
      const isFarFromEnd = this.#settings.scheduler.now() < this.#renewAtMs
      return (isFarFromEnd ? this.#good() : undefined) ?? this.replace()
    })
  }

  /** A token that replaces the present one, which is near its end; the present one if there is no other. */
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

  /** Another token than the one that the service refused, by default the one refused before. */
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
    this.#renewAtMs = endsMs - Math.min(maxLeadMs, (endsMs - nowMs) / 20)
  }

  #good(): Observable<TokenInHand> | undefined {
    const held = this.#held
    const endsMs = held?.expiresAtMs ?? Infinity
    return held !== undefined && endsMs > this.#settings.scheduler.now() ? of(held) : undefined
  }
}
