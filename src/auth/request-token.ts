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
  take,
  throwError,
  throwIfEmpty,
  timeout,
} from 'rxjs'
import {
  anything,
  checkOptions,
  codec,
  flag,
  functionValue,
  nonEmptyText,
  number,
  schedulerValue,
  optionsOf,
  type Codec,
} from '../protocol/validation.js'
import { codeOf, isSpeechError, SpeechError } from '../errors/speech-error.js'
import { isLoopback } from '../protocol/loopback.js'
import type { ProxyOption } from '../protocol/proxy-option.js'
import type { Token } from '../protocol/token.js'
import { checkProxy } from '../proxy/proxy.js'
import { certificateFailure } from '../errors/connection-errors.js'
import {
  boundedText,
  isRefusal,
  maxAnswerBytes,
  maskOfSecret,
  parseToken,
  refusalOf,
  type TokenAnswer,
} from './token-response.js'
import type { RequestTokenOptions, TokenFetch, TokenFetchResponse, TokenRequestInit } from './token-fetch.js'

/**
 * Requests a bearer token with the client credentials grant: POST `{authUrl}/connect/token` (PROTOCOL 2, RFC 6749
 * section 4.4). Cold: each subscription is one request, which emits one token and completes. Put `keepFresh` behind it
 * to share and renew the token.
 *
 * Errors, all of them `SpeechError`s without secret and token in message and cause:
 * - refusals of the endpoint, by RFC 6749 section 5.2: `invalid-request`, `invalid-client`, `invalid-grant`,
 *   `unauthorized-client`, `unsupported-grant-type`, `invalid-scope`; `too-many-attempts` for 429 and `overloaded` for
 *   503, with `retryAfterMs` if the endpoint says how long to wait;
 * - `token-endpoint-failed` for an unusable answer: not JSON, invalid fields, more than 64 KiB, a redirect (not
 *   followed), any other status; `retryable` says whether another attempt can help, as after a status of 500 or more;
 * - `connection-failed` when there is no answer, `token-timeout` when it takes longer than `timeoutMs`.
 *
 * A token whose answer has no `expires_in`, which RFC 6749 only recommends, has the `expiresAtMs` `Infinity`: it is
 * used until a service refuses it.
 *
 * Unsubscribing aborts the request. Browser-safe. Throws `invalid-options` when it is called, also for plain http to
 * another machine (see `insecure`).
 *
 * @example
 * const token = requestToken({ authUrl, clientId, clientSecret }).pipe(keepFresh())
 * audio$.pipe(recognize({ url, token, format, model: 'transcribe' })).subscribe()
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
      timeout({ first: timeoutMs, scheduler, with: () => throwError(() => timedOut(timeoutMs)) }),
      finalize(() => controller.abort()),
    )
  })
}

const isNode = (): boolean => typeof globalThis.process?.versions?.node === 'string'

/** The global `fetch`, looked up when it is called. In Node it supports no proxy, so `nodeFetch` is used with one. */
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
      { retryable: false },
    )
  const body$ = from(response.body ?? EMPTY).pipe(catchError(() => throwError(interrupted)))
  return boundedText(body$, maxAnswerBytes, tooBig).pipe(
    map((body) => ({ status, retryAfter: response.headers.get('retry-after'), body })),
  )
}

const tokenOf = (answer: TokenAnswer, secret: string, requestedAtMs: number, nowMs: number): Token => {
  if (isRefusal(answer)) throw refusalOf(answer, secret, nowMs)
  const token = parseToken(answer.body, requestedAtMs)
  if (either.isRight(token)) return token.right
  throw token.left
}

const timedOut = (timeoutMs: number): SpeechError =>
  new SpeechError(
    'token-timeout',
    `The token endpoint did not answer within ${timeoutMs} ms; check the address or try later.`,
  )

const interrupted = (): SpeechError =>
  new SpeechError('token-endpoint-failed', 'The answer of the token endpoint broke off; try again.')

/** A `SpeechError` of `fetch` names the cause, such as a proxy; any other error means that there was no answer. */
const sendFailure = (url: URL, error: unknown, secret: string): SpeechError =>
  isSpeechError(error) ? maskOfSecret(secret).cleanError(error) : unreachable(url, error)

/** Without the cause, which may contain the body of the request and so the secret. */
const unreachable = (url: URL, error?: unknown): SpeechError => {
  const code = systemCode(error)
  const ofCertificate = code === undefined ? undefined : certificateFailure(url.host, code)
  if (ofCertificate !== undefined) return ofCertificate
  const why = code === undefined ? '' : ` (${code})`
  return new SpeechError(
    'connection-failed',
    `The token endpoint at ${url.host} could not be reached${why}; check authUrl, the network and the CA certificate.`,
  )
}

/** A code such as `ECONNREFUSED` or `DEPTH_ZERO_SELF_SIGNED_CERT`, of the error or of one of its causes. */
const systemCode = (error: unknown, depth = 4): string | undefined => {
  if (!(error instanceof Error) || depth === 0) return undefined
  const code = codeOf(error)
  return code !== undefined && /^[A-Z][A-Z_]{2,49}$/.test(code) ? code : systemCode(error.cause, depth - 1)
}

const defaultScope = 'Ldm_Integration'
const defaultTimeoutMs = 10_000

/** RFC 6749 appendices A.1 and A.2. A copied line end would be refused as a wrong secret. */
const printable: Codec<string> = codec(
  'printable ASCII characters, without a line end; check where it was copied from',
  (value): value is string => typeof value === 'string' && /^[\x20-\x7e]+$/.test(value),
)

const optionsOfRequest = optionsOf<RequestTokenOptions>()(
  { authUrl: anything, clientId: printable, clientSecret: printable },
  {
    scope: nonEmptyText,
    timeoutMs: number({ min: 1, max: 600_000 }),
    insecure: flag,
    fetch: functionValue,
    proxy: anything,
    scheduler: schedulerValue,
  },
)

/** The address of the token endpoint; throws `invalid-options` for options that cannot be used, without any secret. */
const tokenUrlOf = (options: RequestTokenOptions): URL => {
  checkOptions(optionsOfRequest, options)
  const { authUrl, insecure = false } = options
  checkProxy(options.proxy)
  if (options.proxy !== undefined && options.fetch !== undefined) {
    throw invalid('proxy and fetch exclude each other; pass the proxy to nodeFetch.')
  }
  const url = URL.canParse(authUrl) ? new URL(authUrl) : undefined
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw invalid('authUrl must be an address that begins with https://.')
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw invalid('authUrl must be a plain base address, without user, password, query or fragment.')
  }
  if (url.protocol === 'http:' && !insecure && !isLoopback(url.hostname)) {
    throw invalid('authUrl must begin with https://, otherwise the client secret could be read in transit.')
  }
  if (/\/connect\/token\/*$/.test(url.pathname)) {
    throw invalid('authUrl must be the base address, without /connect/token, which is added.')
  }
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/connect/token`
  return url
}

const invalid = (message: string): SpeechError => new SpeechError('invalid-options', message)
