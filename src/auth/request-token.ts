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
  type Observable,
  type SchedulerLike,
  take,
  throwError,
  throwIfEmpty,
  timeout,
} from 'rxjs'
import { isSpeechError, SpeechError } from '../errors/speech-error.js'
import { isLoopback } from '../protocol/loopback.js'
import type { ProxyOption } from '../protocol/proxy-option.js'
import type { Token } from '../protocol/token.js'
import { checkProxy } from '../proxy/proxy.js'
import { boundedText, maxAnswerBytes, maskOfSecret, refusalOf, type TokenAnswer, parseToken } from './token-response.js'
import type { TokenFetch, TokenFetchResponse, TokenRequestInit } from './token-fetch.js'

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

export interface RequestTokenOptions {
  /** Base address of the identity service; `/connect/token` is appended (service.md 4.3). */
  readonly authUrl: string
  readonly clientId: string
  readonly clientSecret: string
  /** Default `Ldm_Integration` (service.md 4.3). */
  readonly scope?: string
  /** How long connection and answer may take together, in milliseconds; default 10 000. */
  readonly timeoutMs?: number
  /** Allows plain http to other machines, where everybody on the way can read the secret. Default false. */
  readonly allowInsecure?: boolean
  /**
   * Sends the request. Default: the global `fetch`, or in Node, where a proxy is to be used, `nodeFetch`. For a private CA
   * in Node: `nodeFetch({ ca, proxy })`.
   */
  readonly fetch?: TokenFetch
  /**
   * The HTTP proxy to go through, such as `http://user:password@proxy.example.com:3128`; `false` for none. Node only, and
   * not beside `fetch`, which has its own. Default: what `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` of the environment say.
   */
  readonly proxy?: ProxyOption
  /** The clock of the time-out and of the token's end. Default `asyncScheduler`. */
  readonly scheduler?: SchedulerLike
}

/** Service.md 4.3. */
export const defaultScope = 'Ldm_Integration'
export const defaultTimeoutMs = 10_000
const longestTimeoutMs = 600_000

/** The address of the token endpoint; throws `invalid-options` when an option is not usable, and never says a secret. */
export const tokenUrlOf = (options: RequestTokenOptions): URL => {
  const {
    authUrl,
    clientId,
    clientSecret,
    scope = defaultScope,
    timeoutMs = defaultTimeoutMs,
    allowInsecure = false,
  } = options
  for (const [name, value] of Object.entries({ clientId, clientSecret, scope })) {
    if (typeof value !== 'string' || value === '') throw invalid(`${name} must be a string that is not empty.`)
  }
  if (!(timeoutMs >= 1 && timeoutMs <= longestTimeoutMs)) {
    throw invalid(`timeoutMs must be a number from 1 to ${longestTimeoutMs}, not ${timeoutMs}.`)
  }
  checkProxy(options.proxy)
  if (options.proxy !== undefined && options.fetch !== undefined) {
    throw invalid('proxy and fetch exclude each other; give the proxy to nodeFetch.')
  }
  const url = URL.canParse(authUrl) ? new URL(authUrl) : undefined
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw invalid('authUrl must be an address that begins with https://.')
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw invalid('authUrl must be a plain base address, without user, password, query or fragment.')
  }
  if (url.protocol === 'http:' && !allowInsecure && !isLoopback(url.hostname)) {
    throw invalid('authUrl must begin with https://, else the client secret could be read on the way.')
  }
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/connect/token`
  return url
}

const invalid = (message: string): SpeechError => new SpeechError('invalid-options', message)
