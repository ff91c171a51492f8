import { createServer } from 'node:https'
import { lastValueFrom, map, toArray, type Observable } from 'rxjs'
import { nodeFetch } from '../../../../src/auth/node-fetch.js'
import { requestToken } from '../../../../src/auth/request-token.js'
import type { ProxyOption } from '../../../../src/protocol/proxy-option.js'
import { dataflow } from '../../../../src/client/dataflow/dataflow.js'
import { recognize } from '../../../../src/client/recognizer/recognize.js'
import { verifyingService } from '../../../../src/testing/verifying/verifying-service.js'
import { testCertificates } from '../test-certificates.js'
import { format, sourceOf } from '../../../../test/faults/proved-session.js'
import { listen, stop } from '../../../../test/transport/tcp-proxy.js'

export const ways = ['a token request', 'a WebSocket', 'gRPC'] as const
export type Way = (typeof ways)[number]

export interface Proxied {
  /** `host:port` of the target of each path. */
  readonly peers: Readonly<Record<Way, string>>
  /** Emits the result: a token, or the text of a session. */
  readonly run: (way: Way, proxy?: ProxyOption, options?: { readonly connectTimeoutMs?: number }) => Observable<string>
  /** What `run` resolves with on success. */
  readonly results: Readonly<Record<Way, string>>
  readonly close: () => Promise<void>
}

/** A token endpoint and a service, both with TLS, and a client for each. */
export const proxied = async (): Promise<Proxied> => {
  const { ca, key, certificate } = await testCertificates()
  const service = verifyingService({ wordMs: 100 })
  const listening = await service.listen({ certificate: { certificate, key } })
  const endpoint = createServer({ key, cert: certificate }, (request, response) => {
    request.resume()
    response.end(JSON.stringify({ access_token: 'granted', token_type: 'Bearer', expires_in: 60 }))
  })
  const authPort = await listen(endpoint)
  const { host } = new URL(listening.url)
  const source = sourceOf(400)
  const text = service.transcript({ sampleCount: 3_200, sampleRateHz: 8_000 })
  const textOf = (session: Observable<unknown>): Observable<string> =>
    session.pipe(
      toArray(),
      map((events) =>
        (events as { readonly type: string; readonly text: string }[])
          .map((event) => (event.type === 'milestone' ? event.text : ''))
          .join(''),
      ),
    )
  const run: Proxied['run'] = (way, proxy, { connectTimeoutMs } = {}) => {
    const through = proxy === undefined ? {} : { proxy }
    const common = { connection: { ca, ...through }, token: 'any', format, timeouts: { connectMs: connectTimeoutMs } }
    switch (way) {
      case 'a token request':
        return requestToken({
          authUrl: `https://127.0.0.1:${authPort}`,
          clientId: 'c',
          clientSecret: 'secret-secret',
          fetch: nodeFetch({ ca, ...through }),
          ...(connectTimeoutMs === undefined ? {} : { timeoutMs: connectTimeoutMs }),
        }).pipe(map(({ accessToken }) => accessToken))
      case 'a WebSocket':
        return textOf(recognize({ ...common, url: listening.url, model: 'm' })(source))
      case 'gRPC':
        return textOf(dataflow({ ...common, url: listening.address, tenant: 't', project: 'p' })(source))
    }
  }
  return {
    peers: { 'a token request': `127.0.0.1:${authPort}`, 'a WebSocket': host, gRPC: listening.address },
    run,
    results: { 'a token request': 'granted', 'a WebSocket': text, gRPC: text },
    close: async () => {
      await listening.close()
      await stop(endpoint)
    },
  }
}

/** The result, or the error. */
export const outcomeOf = (run: Observable<string>): Promise<unknown> =>
  lastValueFrom(run).catch((error: unknown) => error)
