import type { ObservableInput } from 'rxjs'

/** The one request that is made to a token endpoint (service.md 4.3). Its body holds the client secret. */
export interface TokenRequestInit {
  readonly method: 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Redirects are never followed: the secret must not travel to another address. */
  readonly redirect: 'manual'
  readonly signal: AbortSignal
}

/** What is read of the answer; the `Response` of `fetch` is one. */
export interface TokenFetchResponse {
  readonly status: number
  /** `opaqueredirect` is how a browser tells of a redirect that it didn't follow. */
  readonly type?: string
  readonly headers: { readonly get: (name: string) => string | null }
  readonly body: ObservableInput<Uint8Array> | null
}

/**
 * How the request is sent. The `fetch` of browsers and of Node is one; `nodeFetch` is one that takes a private CA.
 * It may answer by promise or by Observable, fails when there is no answer, and gives up when `signal` aborts.
 */
export type TokenFetch = (url: string, init: TokenRequestInit) => ObservableInput<TokenFetchResponse>
