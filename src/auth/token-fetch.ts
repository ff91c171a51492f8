import type { ObservableInput } from 'rxjs'

/** The request to a token endpoint (PROTOCOL 2). Its body holds the client secret. */
export interface TokenRequestInit {
  readonly method: 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Redirects are never followed: the secret must not travel to another address. */
  readonly redirect: 'manual'
  readonly signal: AbortSignal
}

/** The used members of an answer; the `Response` of `fetch` has them. */
export interface TokenFetchResponse {
  readonly status: number
  /** A browser reports a redirect that it did not follow as `opaqueredirect`. */
  readonly type?: string
  readonly headers: { readonly get: (name: string) => string | null }
  readonly body: ObservableInput<Uint8Array> | null
}

/**
 * Sends the request: the `fetch` of browsers and of Node, or `nodeFetch`, which supports a private CA. It returns a promise or
 * an Observable, fails without an answer, and stops when `signal` aborts.
 */
export type TokenFetch = (url: string, init: TokenRequestInit) => ObservableInput<TokenFetchResponse>
