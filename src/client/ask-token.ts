import { defaultIfEmpty, defer, filter, from, map, of, take, tap, throwIfEmpty } from 'rxjs'
import { pipe, type NextObserver, type Observable, type ObservableInput, type OperatorFunction } from 'rxjs'
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
export const askToken = (source: TokenSource, refused?: string, rejected$?: RejectedTokens): Observable<TokenInHand> =>
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
