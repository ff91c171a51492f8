import { catchError, defer, EMPTY, merge, mergeMap, of, take, tap, throwError, timer, type Observable } from 'rxjs'
import { askToken, isFixedToken, type TokenInHand } from './ask-token.js'
import type { SessionSettings } from './options.js'

/** A token counts as near its end for this long before it, or for a twentieth of its life if that is less. */
const mostLeadMs = 60_000

/** The share of the time for a token, or of what is left of the one in hand, that its source may take meanwhile. */
const patience = 1 / 2

type Settings = Pick<SessionSettings, 'token' | 'rejected$' | 'scheduler'> & {
  readonly deadlines: Pick<SessionSettings['deadlines'], 'authorizing'>
}

/**
 * The token of one session, over all of its connections. A token in hand is used until it is refused or near its end, so
 * that an outage asks the source for nothing; and a source that fails, or says nothing, while the token in hand is still
 * good costs nothing.
 */
export class SessionToken {
  readonly #settings: Settings
  #held: TokenInHand | undefined
  #renewAtMs = Infinity
  #refused: string | undefined

  constructor(settings: Settings) {
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
