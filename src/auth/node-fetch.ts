import * as http from 'node:http'
import * as https from 'node:https'
import type { TokenFetch, TokenFetchResponse } from './token-fetch.js'

export interface NodeFetchOptions {
  /** CA certificates in PEM, in place of those of Node: for an identity service with a certificate of its own. */
  readonly ca?: string | Uint8Array | readonly (string | Uint8Array)[]
}

/**
 * Sends a token request by Node's own https, since the global `fetch` of Node takes no CA. Node only.
 *
 * One connection for each request, closed after it. Redirects are not followed, whatever is asked. The body comes as it
 * is read; when `signal` aborts, the connection ends. Fails with Node's own errors (`ECONNREFUSED`,
 * `DEPTH_ZERO_SELF_SIGNED_CERT` …), of which `requestToken` says the code only.
 */
export const nodeFetch =
  ({ ca }: NodeFetchOptions = {}): TokenFetch =>
  (url, { method, headers, body, signal }) =>
    new Promise<TokenFetchResponse>((resolve, reject) => {
      const bytes = new TextEncoder().encode(body)
      const options = {
        method,
        headers: { ...headers, 'content-length': bytes.byteLength },
        agent: false as const,
        signal,
      }
      const answered = (response: http.IncomingMessage): void => resolve(responseOf(response))
      const request = url.startsWith('https:')
        ? https.request(url, { ...options, ...(ca !== undefined && { ca: certificatesOf(ca) }) }, answered)
        : http.request(url, options, answered)
      // Stays for the life of the request: what breaks after the answer began shows in the body.
      request.on('error', reject)
      request.end(bytes)
    })

const responseOf = (response: http.IncomingMessage): TokenFetchResponse => ({
  status: response.statusCode ?? 0,
  headers: {
    get: (name) => {
      const value = response.headers[name.toLowerCase()]
      return value === undefined ? null : [value].flat().join(', ')
    },
  },
  body: response,
})

const certificatesOf = (ca: NonNullable<NodeFetchOptions['ca']>): (string | Buffer)[] =>
  (typeof ca === 'string' || ca instanceof Uint8Array ? [ca] : ca).map((one) =>
    typeof one === 'string' ? one : Buffer.from(one),
  )
