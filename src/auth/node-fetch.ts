import * as http from 'node:http'
import * as https from 'node:https'
import { pipeline, type Readable } from 'node:stream'
import { createBrotliDecompress, createUnzip } from 'node:zlib'
import type { ProxyOption } from '../protocol/proxy-option.js'
import { anything, checkOptions, optionsOf } from '../protocol/validation.js'
import { connectionOf } from '../proxy/connect.js'
import { checkProxy, proxyFor } from '../proxy/proxy.js'
import type { TokenFetch, TokenFetchResponse, TokenRequestInit } from './token-fetch.js'

/** How `nodeFetch` connects to the token endpoint. */
export interface NodeFetchOptions {
  /**
   * CA certificates in PEM, instead of those of Node: for an identity service with its own CA.
   * @default the certificates of Node
   */
  readonly ca?: string | Uint8Array | readonly (string | Uint8Array)[] | undefined
  /**
   * The HTTP proxy to go through, such as `http://user:password@proxy.example.com:3128`; `false` for none.
   * @default the environment: `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`
   */
  readonly proxy?: ProxyOption | undefined
}

const nodeFetchOptions = optionsOf<NodeFetchOptions>()({}, { ca: anything, proxy: anything })

/** A request of `nodePost`. */
interface NodePostInit extends Pick<TokenRequestInit, 'headers' | 'signal'> {
  readonly method: 'POST' | 'HEAD'
  readonly body: string | Uint8Array
}

/** Sends a request by Node's own https; see `nodeFetch`. */
export type NodePost = (url: string, init: NodePostInit) => Promise<TokenFetchResponse>

/** As `nodeFetch`, for any body. */
export const nodePost = (options: NodeFetchOptions = {}): NodePost => {
  const { ca, proxy: option } = checkOptions(nodeFetchOptions, options)
  checkProxy(option)
  return (url, { method, headers, body, signal }) =>
    new Promise<TokenFetchResponse>((resolve, reject) => {
      const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
      const isSecure = url.startsWith('https:')
      const options = {
        method,
        headers: { 'accept-encoding': 'identity', ...headers, 'content-length': bytes.byteLength },
        signal,
        ...connectionOf(new URL(url), option, signal),
      }
      const answered = (response: http.IncomingMessage): void => resolve(responseOf(response))
      const request = isSecure
        ? https.request(url, { ...options, ca: ca === undefined ? undefined : certificatesOf(ca) }, answered)
        : http.request(url, options, answered)
      // Stays for the lifetime of the request: an error after the beginning of the answer appears in the body.
      request.on('error', reject)
      request.end(bytes)
    })
}

/**
 * Sends a token request by Node's own https, because the global `fetch` of Node does not support a CA. Node only.
 *
 * One connection for each request, closed after it. Redirects are never followed. The body is streamed; when `signal`
 * aborts, the connection ends. Fails with Node's own errors (`ECONNREFUSED`, `DEPTH_ZERO_SELF_SIGNED_CERT` …), of which
 * `requestToken` reports only the code; with a `SpeechError` if a proxy is the cause.
 *
 * @example
 * const fetch = nodeFetch({ ca: readFileSync('ca.pem') })
 * const token$ = requestToken({ authUrl, clientId, clientSecret, fetch })
 */
export const nodeFetch = (options: NodeFetchOptions = {}): TokenFetch => nodePost(options)

/** The global `fetch`, or `nodeFetch` with a proxy, which the global one does not support. */
export const fetchOrProxy =
  (proxy: ProxyOption | undefined): TokenFetch =>
  (url, init) =>
    proxyFor(new URL(url), proxy) === undefined ? fetch(url, init) : nodeFetch({ proxy })(url, init)

const responseOf = (response: http.IncomingMessage): TokenFetchResponse => ({
  status: response.statusCode ?? 0,
  headers: {
    get: (name) => {
      const value = response.headers[name.toLowerCase()]
      return value === undefined ? null : [value].flat().join(', ')
    },
  },
  body: decodedBody(response),
})

/** Some servers compress whether a client accepts it or not. */
const decodedBody = (response: http.IncomingMessage): Readable => {
  const coding = response.headers['content-encoding']?.trim().toLowerCase()
  const decoder =
    coding === 'br' ? createBrotliDecompress() : /^(x-)?gzip$|^deflate$/.test(coding ?? '') ? createUnzip() : undefined
  // The reader gets the error of the decoder.
  return decoder === undefined ? response : pipeline(response, decoder, () => undefined)
}

const certificatesOf = (ca: NonNullable<NodeFetchOptions['ca']>): (string | Buffer)[] =>
  (typeof ca === 'string' || ca instanceof Uint8Array ? [ca] : ca).map((certificate) =>
    typeof certificate === 'string' ? certificate : Buffer.from(certificate),
  )
