import type { Observable } from 'rxjs'
import { nodeFetch } from '../../auth/node-fetch.js'
import { requestToken } from '../../auth/request-token.js'
import type { Token } from '../../protocol/token.js'
import type { Credentials } from './access.js'

export interface TokenRequestTerms {
  readonly ca: string | undefined
  readonly timeoutMs: number | undefined
  readonly proxy: string | false | undefined
}

/** A token for the credentials of a client, one a subscription. */
export const tokenOf = (
  { authUrl, clientId, clientSecret, scope }: Extract<Credentials, { readonly type: 'client' }>,
  { ca, timeoutMs, proxy }: TokenRequestTerms,
): Observable<Token> =>
  requestToken({
    authUrl,
    clientId,
    clientSecret,
    ...(scope === undefined ? {} : { scope }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    fetch: nodeFetch({ ...(ca === undefined ? {} : { ca }), ...(proxy === undefined ? {} : { proxy }) }),
  })
