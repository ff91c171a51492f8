import type { RequestListener, ServerResponse } from 'node:http'
import { openHttp, type HttpListener } from '../listen/http-listener.js'
import type { ListenAddress, ServerCertificate } from '../listen/listen-address.js'
import type { Readiness } from './readiness.js'

const readinessLines: Readonly<Record<Readiness['type'], string>> = {
  starting: 'starting: the service does not listen yet, or its first engine is not loaded\n',
  ready: 'ready\n',
  'without-engine': 'without-engine: no model can be loaded; the log says why\n',
  draining: 'draining: the service is closing\n',
}

export interface OperationsListenerOptions {
  readonly address: ListenAddress
  readonly certificate?: ServerCertificate | undefined
  readonly readiness: () => Readiness
  readonly scrape: () => Promise<{ readonly contentType: string; readonly body: string }>
  readonly onFault: (error: unknown) => void
}

const send = (response: ServerResponse, status: number, body: string, headers: Readonly<Record<string, string>> = {}) =>
  response
    .writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store', ...headers })
    .end(body)

/**
 * Serves `/livez`, `/readyz` and `/metrics` for operators. They name no sessions but show the load, so the listener belongs
 * on loopback or on a separate network.
 */
export const openOperationsListener = async (options: OperationsListenerOptions): Promise<HttpListener> => {
  const { address, certificate, readiness, scrape, onFault } = options
  const onRequest: RequestListener = (request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      send(response, 405, 'only GET is allowed here\n', { Allow: 'GET, HEAD' })
      return
    }
    switch ((request.url ?? '').split('?', 1)[0]) {
      case '/livez':
        send(response, 200, 'alive\n')
        return
      case '/readyz':
        sendReadiness(response, readiness())
        return
      case '/metrics':
        scrape().then(
          ({ contentType, body }) => send(response, 200, body, { 'Content-Type': contentType }),
          (error: unknown) => {
            onFault(error)
            send(response, 500, 'the metrics could not be read\n')
          },
        )
        return
      default:
        send(response, 404, 'the paths are /livez, /readyz and /metrics\n')
    }
  }
  const http = await openHttp(address, { certificate, onFault })
  http.handle({
    request: onRequest,
    upgrade: (_request, socket) => {
      socket.destroy()
    },
  })
  return http
}

const sendReadiness = (response: ServerResponse, { type }: Readiness): void => {
  send(response, type === 'ready' ? 200 : 503, readinessLines[type])
}
