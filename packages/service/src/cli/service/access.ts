import { defer, retry, throwError, timer, type Observable } from 'rxjs'
import { nodeFetch } from 'rxspeech/internal/auth/node-fetch'
import { requestToken } from 'rxspeech/internal/auth/request-token'
import type { TokenFetch } from 'rxspeech/internal/auth/token-fetch'
import { codeOf } from 'rxspeech/internal/errors/speech-error'
import type { Token } from 'rxspeech/internal/protocol/token'

/** A client of a token endpoint (PROTOCOL 2). */
export interface ClientCredentials {
  readonly type: 'client'
  readonly authUrl: string
  readonly clientId: string
  readonly clientSecret: string
}

/** A token, or the client that requests one. */
export type Credentials = { readonly type: 'token'; readonly token: string } | ClientCredentials

export interface ModelChoice {
  readonly name: string
  /** The tenant of the model. @default 'Default' */
  readonly tenant?: string | undefined
}

/** Everything needed to open a session with a service. */
export interface Access {
  /** Address of the recognition socket. */
  readonly url?: string | undefined
  /** `host:port` of the dataflow stream. */
  readonly grpc?: string | undefined
  /** The stream without TLS. */
  readonly isPlaintext: boolean
  /** CA certificates, PEM, instead of those of Node. */
  readonly ca?: string | undefined
  /** The proxy to the service and to the token endpoint; false: none. @default what HTTPS_PROXY and NO_PROXY say */
  readonly proxy?: string | false | undefined
  readonly credentials: Credentials
  readonly tenant: string
  readonly project: string
  readonly model?: ModelChoice | undefined
}

export interface TokenRequestOptions extends Pick<Access, 'ca' | 'proxy'> {
  readonly scope?: string | undefined
  readonly timeoutMs?: number | undefined
}

/** A token for the credentials of a client, another one with each subscription. */
export const tokenOf = (
  { authUrl, clientId, clientSecret }: ClientCredentials,
  { ca, proxy, ...options }: TokenRequestOptions,
): Observable<Token> =>
  requestToken({ authUrl, clientId, clientSecret, ...options, fetch: againAfterReset(nodeFetch({ ca, proxy })) })

/** A request whose connection the peer resets, as during a restart, is repeated within the deadline of the token. */
const againAfterReset =
  (fetch: TokenFetch): TokenFetch =>
  (url, init) =>
    defer(() => fetch(url, init)).pipe(
      retry({
        count: maxResets,
        delay: (error: unknown, count) =>
          codeOf(error) === 'ECONNRESET' || codeOf(error) === 'EPIPE'
            ? timer(100 * 2 ** count)
            : throwError(() => error),
      }),
    )

const maxResets = 4
