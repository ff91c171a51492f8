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
import { isJsonObject } from '../protocol/json-object.js'
import type { Token } from '../protocol/token.js'
import { codec, nonEmptyText, type Codec } from '../protocol/validation.js'

/** A token, or a source of tokens: its first token is taken each time that the session needs one. */
export type TokenSource = string | Token | ObservableInput<string | Token>

/** Gets each token that the service refused; the same `Subject` as `rejected$` of `keepFresh`. */
export type RejectedTokens = NextObserver<Pick<Token, 'accessToken'>>

/** A token; `fresh` if it is not the one that was refused. */
export interface CurrentToken {
  readonly accessToken: string
  readonly fresh: boolean
  /** When it expires, in milliseconds since 1970, if the source states it. */
  readonly expiresAtMs: number | undefined
}

/** A token that a session can present; what else the object of a token has is not checked. */
export const token: Codec<string | Token> = codec(
  'a token that is not empty',
  (value): value is string | Token =>
    nonEmptyText.is(value) || (isJsonObject(value) && nonEmptyText.is(value['accessToken'])),
)

/** A constant token, for which a second request is useless. */
export const isFixedToken = (source: TokenSource): source is string | Token =>
  typeof source === 'string' || (typeof source === 'object' && 'accessToken' in source)

/**
 * Requests a token once. After a refusal it subscribes to the source again, which is a new request if the source is
 * cold. A source that still emits the refused token receives it through `rejected$` and may then emit another one.
 *
 * Errors: that of the source; `unauthenticated` if it emits no token.
 */
const fetchToken = (source: TokenSource, refused?: string, rejected$?: RejectedTokens): Observable<CurrentToken> =>
  defer(() => (isFixedToken(source) ? of(source) : from(source))).pipe(
    map(presentable),
    refused === undefined || rejected$ === undefined ? pipe() : afterRejecting(refused, rejected$),
    take(1),
    map(({ accessToken, expiresAtMs }) => ({ accessToken, expiresAtMs, fresh: accessToken !== refused })),
    refused === undefined
      ? throwIfEmpty(() => new SpeechError('unauthenticated', 'The token source gave no token.'))
      : defaultIfEmpty({ accessToken: refused, expiresAtMs: undefined, fresh: false }),
  )

type Presentable = Omit<CurrentToken, 'fresh'>

const afterRejecting = (refused: string, rejected$: RejectedTokens): OperatorFunction<Presentable, Presentable> =>
  pipe(
    tap(({ accessToken }) => {
      if (accessToken === refused) rejected$.next({ accessToken })
    }),
    filter(({ accessToken }) => accessToken !== refused),
  )

/** The type is `unknown`, because a source may emit anything at run time. Errors never contain the value. */
const presentable = (given: unknown): Presentable => {
  if (!token.is(given)) throw new SpeechError('unauthenticated', 'The token source gave no valid token.')
  const { accessToken, expiresAtMs } = typeof given === 'string' ? { accessToken: given } : given
  return { accessToken, expiresAtMs: typeof expiresAtMs === 'number' ? expiresAtMs : undefined }
}

/** A token is renewed, or a connection replaced, 60 s or a twentieth of its life before its end, whichever is less. */
export const renewalLeadMs = (lifeMs: number): number => Math.min(60_000, lifeMs / 20)

/** The share of the deadline, or of the remaining validity, that the token source may take for a renewal. */
const patience = 1 / 2

interface TokenSettings {
  readonly token: TokenSource
  readonly rejected$: RejectedTokens | undefined
  readonly scheduler: SchedulerLike
  readonly deadlines: { readonly authorizing: number }
}

/**
 * The token of one session, for all of its connections. The current token is used until it is refused or about to
 * expire, so an outage causes no request. If the source fails or emits nothing, the current token is used as long as it
 * is valid.
 */
export class SessionToken {
  readonly #settings: TokenSettings
  #held: CurrentToken | undefined
  #renewAtMs = Infinity
  #refused: string | undefined

  constructor(settings: TokenSettings) {
    this.#settings = settings
  }

  /** A token for another connection: the current one unless it is about to expire. */
  take(): Observable<CurrentToken> {
    return defer(() => {
      const isFarFromEnd = this.#settings.scheduler.now() < this.#renewAtMs
      return (isFarFromEnd ? this.#good() : undefined) ?? this.replace()
    })
  }

  /** A replacement for the current token, which is about to expire; the current one if there is no other. */
  replace(): Observable<CurrentToken> {
    const { token, scheduler, deadlines } = this.#settings
    return defer(() => {
      const fetched$ = fetchToken(token).pipe(tap((fetched) => this.#hold(fetched)))
      if (this.#good() === undefined || isFixedToken(token)) return fetched$
      const leftMs = (this.#held?.expiresAtMs ?? Infinity) - scheduler.now()
      const late$ = timer(Math.min(deadlines.authorizing, leftMs) * patience, scheduler).pipe(
        mergeMap(() => this.#good() ?? EMPTY),
      )
      const heldInstead$ = fetched$.pipe(catchError((error: unknown) => this.#good() ?? throwError(() => error)))
      return merge(heldInstead$, late$).pipe(take(1))
    })
  }

  /** A token that differs from the refused one; by default from the last refused one. */
  renew(refused = this.#refused): Observable<CurrentToken> {
    const { token, rejected$ } = this.#settings
    return defer(() => {
      this.#refused = refused
      if (this.#held?.accessToken === refused) this.#held = undefined
      return this.#good() ?? fetchToken(token, refused, rejected$).pipe(tap((fetched) => this.#hold(fetched)))
    })
  }

  #hold(token: CurrentToken): void {
    if (!token.fresh) return
    const nowMs = this.#settings.scheduler.now()
    const endsMs = token.expiresAtMs ?? Infinity
    this.#held = token
    this.#renewAtMs = endsMs - renewalLeadMs(endsMs - nowMs)
  }

  #good(): Observable<CurrentToken> | undefined {
    const held = this.#held
    const endsMs = held?.expiresAtMs ?? Infinity
    return held !== undefined && endsMs > this.#settings.scheduler.now() ? of(held) : undefined
  }
}
