import type { ObservableInput, SchedulerLike } from 'rxjs'
import type { ProxyOption } from '../protocol/proxy-option.js'

/** The request to a token endpoint (PROTOCOL 2). Its body holds the client secret. */
export interface TokenRequestInit {
  readonly method: 'POST'
  /** The headers of the request, by name. */
  readonly headers: Readonly<Record<string, string>>
  /** The form, `application/x-www-form-urlencoded`. */
  readonly body: string
  /** Redirects are never followed: the secret must not travel to another address. */
  readonly redirect: 'manual'
  /** Aborts the request. */
  readonly signal: AbortSignal
}

/** The used members of an answer; the `Response` of `fetch` has them. */
export interface TokenFetchResponse {
  /** The HTTP status. */
  readonly status: number
  /** A browser reports a redirect that it did not follow as `opaqueredirect`. */
  readonly type?: string
  /** The headers of the answer. */
  readonly headers: {
    /** Returns the header of this name, in any letter case; null if there is none. */
    readonly get: (name: string) => string | null
  }
  /** The bytes of the body as they arrive; null if there is none. */
  readonly body: ObservableInput<Uint8Array> | null
}

/**
 * Sends the request: the `fetch` of browsers and of Node, or `nodeFetch`, which supports a private CA. It returns a
 * promise or an Observable, fails without an answer, and stops when `signal` aborts.
 */
export type TokenFetch = (url: string, init: TokenRequestInit) => ObservableInput<TokenFetchResponse>

/** The client whose token is requested, and how. */
export interface RequestTokenOptions {
  /** Base address of the identity service, to which `/connect/token` is appended (PROTOCOL 2). */
  readonly authUrl: string
  /** The id of the client (RFC 6749 section 2.2). */
  readonly clientId: string
  /** The secret of the client. It travels in the body of the request only. */
  readonly clientSecret: string
  /** The scope of the token (PROTOCOL 2). @default 'Ldm_Integration' */
  readonly scope?: string | undefined
  /** How long connection and answer may take together, in milliseconds. @default 10_000 */
  readonly timeoutMs?: number | undefined
  /** Allows plain http to other machines, where the secret can be read in transit. @default false */
  readonly insecure?: boolean | undefined
  /**
   * Sends the request. For a private CA in Node: `nodeFetch({ ca, proxy })`.
   * @default the global `fetch`; in Node with a proxy `nodeFetch`
   */
  readonly fetch?: TokenFetch | undefined
  /**
   * The HTTP proxy to go through, such as `http://user:password@proxy.example.com:3128`; `false` for none. Node only,
   * and not together with `fetch`, which has its own.
   * @default the environment: `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`
   */
  readonly proxy?: ProxyOption | undefined
  /** The clock of the time-out and of the token's expiry. @default asyncScheduler */
  readonly scheduler?: SchedulerLike | undefined
}
