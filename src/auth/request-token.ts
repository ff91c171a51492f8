import { either } from 'fp-ts'
import {
  asyncScheduler,
  catchError,
  defer,
  EMPTY,
  finalize,
  from,
  map,
  mergeMap,
  take,
  throwError,
  throwIfEmpty,
  timeout,
} from 'rxjs'
import type { Observable } from 'rxjs'
import { isSpeechError, SpeechError } from '../errors/speech-error.js'
import type { Token } from '../protocol/token.js'
import type { ProxyOption } from '../protocol/proxy-option.js'
import { boundedText, maxAnswerBytes } from './bounded-text.js'
import type { TokenFetch, TokenFetchResponse, TokenRequestInit } from './token-fetch.js'
import { defaultScope, defaultTimeoutMs, tokenUrlOf, type RequestTokenOptions } from './token-options.js'
import { maskOfSecret, refusalOf, type TokenAnswer } from './token-refusal.js'
import { parseToken } from './token-response.js'

/**
 * Requests a bearer token with the client credentials grant: POST `{authUrl}/connect/token` (service.md 4.3, RFC 6749
 * section 4.4). Cold: each subscription is one request, which emits one token and completes. Put `keepFresh` behind it to
 * share and renew the token.
 *
 * Errors, all of them `SpeechError`s in whose message and cause neither secret nor token stands:
 * - what the endpoint refuses, by RFC 6749 section 5.2: `invalid-request`, `invalid-client`, `invalid-grant`,
 *   `unauthorized-client`, `unsupported-grant-type`, `invalid-scope`; `too-many-attempts` for 429 and
 *   `overloaded` for 503, with `retryAfterMs` where the endpoint says how long to wait;
 * - `token-endpoint-failed` for an answer that is none: no JSON, fields that don't fit, more than 64 KiB, a redirect (not
 *   followed), any other status; `retryable` says whether another attempt can help;
 * - `connection-failed` when there is no answer, `token-timeout` when it takes longer than `timeoutMs`.
 *
 * Unsubscribing aborts the request. Browser-safe. Throws `invalid-options` when it is called, also for plain http to
 * another machine (see `allowInsecure`).
 */
export function requestToken(options: RequestTokenOptions): Observable<Token> {
  const url = tokenUrlOf(options)
  const {
    clientId,
    clientSecret,
    scope = defaultScope,
    timeoutMs = defaultTimeoutMs,
    scheduler = asyncScheduler,
  } = options
  const { fetch: send = platformFetch(options.proxy) } = options
  const form = { client_id: clientId, client_secret: clientSecret, grant_type: 'client_credentials', scope }
  const request: Omit<TokenRequestInit, 'signal'> = {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
    body: new URLSearchParams(form).toString(),
    redirect: 'manual',
  }
  return defer(() => {
    const controller = new AbortController()
    const requestedAtMs = scheduler.now()
    return defer(() => send(url.href, { ...request, signal: controller.signal })).pipe(
      take(1),
      catchError((error: unknown) => throwError(() => sendFailure(url, error, clientSecret))),
      throwIfEmpty(() => unreachable(url)),
      mergeMap(readAnswer),
      map((answer) => tokenOf(answer, clientSecret, requestedAtMs, scheduler.now())),
      timeout({ first: timeoutMs, scheduler, with: () => throwError(() => tooSlow(timeoutMs)) }),
      finalize(() => controller.abort()),
    )
  })
}

const isNode = (): boolean => typeof globalThis.process?.versions?.node === 'string'

/** The global `fetch`, looked up when it is called; in Node that knows no proxy, so that one is looked for first. */
const platformFetch =
  (proxy: ProxyOption | undefined): TokenFetch =>
  (url, init) =>
    isNode()
      ? from(import('./node-fetch.js')).pipe(mergeMap(({ fetchOrProxy }) => fetchOrProxy(proxy)(url, init)))
      : fetch(url, init)

function readAnswer(response: TokenFetchResponse): Observable<TokenAnswer> {
  const status = response.type === 'opaqueredirect' ? 302 : response.status
  const tooBig = (): SpeechError =>
    new SpeechError(
      'token-endpoint-failed',
      `The token endpoint answered with more than ${maxAnswerBytes} bytes; check authUrl.`,
    )
  const body$ = from(response.body ?? EMPTY).pipe(catchError(() => throwError(brokeOff)))
  return boundedText(body$, maxAnswerBytes, tooBig).pipe(
    map((body) => ({ status, retryAfter: response.headers.get('retry-after'), body })),
  )
}

const tokenOf = (answer: TokenAnswer, secret: string, requestedAtMs: number, nowMs: number): Token => {
  if (answer.status !== 200) throw refusalOf(answer, secret, nowMs)
  const token = parseToken(answer.body, requestedAtMs)
  if (either.isRight(token)) return token.right
  throw new SpeechError('token-endpoint-failed', `The token endpoint gave no token: ${token.left.message}`)
}

const tooSlow = (timeoutMs: number): SpeechError =>
  new SpeechError(
    'token-timeout',
    `The token endpoint did not answer within ${timeoutMs} ms; check the address or try later.`,
  )

const brokeOff = (): SpeechError =>
  new SpeechError('token-endpoint-failed', 'The answer of the token endpoint broke off; try again.')

/** What sends the request may know better why that fails, such as by the fault of a proxy. */
const sendFailure = (url: URL, error: unknown, secret: string): SpeechError =>
  isSpeechError(error) ? maskOfSecret(secret).cleanError(error) : unreachable(url, error)

/** Never with the cause: what failed to send the request knows its body, and so the secret. */
const unreachable = (url: URL, error?: unknown): SpeechError => {
  const code = systemCode(error)
  const why = code === undefined ? '' : ` (${code})`
  const remedy = 'check authUrl, the network and the CA certificate'
  return new SpeechError(
    'connection-failed',
    `The token endpoint at ${url.host} could not be reached${why}; ${remedy}.`,
  )
}

/** Such as `ECONNREFUSED` or `DEPTH_ZERO_SELF_SIGNED_CERT`, of the error or of what caused it, some causes deep. */
const systemCode = (error: unknown, depth = 4): string | undefined => {
  if (!(error instanceof Error) || depth === 0) return undefined
  const code: unknown = 'code' in error ? error.code : undefined
  return typeof code === 'string' && /^[A-Z][A-Z_]{2,49}$/.test(code) ? code : systemCode(error.cause, depth - 1)
}
