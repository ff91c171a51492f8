import type { SchedulerLike } from 'rxjs'
import { SpeechError } from '../errors/speech-error.js'
import { isLoopback } from '../protocol/loopback.js'
import type { ProxyOption } from '../protocol/proxy-option.js'
import { checkProxy } from '../proxy/proxy.js'
import type { TokenFetch } from './token-fetch.js'

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
