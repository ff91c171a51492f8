import type { RequestListener, ServerResponse } from 'node:http'
import { openHttp, type HttpListener } from '../listen/http-listener.js'
import type { ListenAddress, ServerCertificate } from '../listen/listen-address.js'
import { readinessLine, type Readiness } from './readiness.js'

export interface OperationsListenerOptions {
  readonly address: ListenAddress
  readonly certificate?: ServerCertificate
  readonly readiness: () => Readiness
  readonly scrape: () => Promise<{ readonly contentType: string; readonly body: string }>
  readonly onFault: (error: unknown) => void
}

const say = (response: ServerResponse, status: number, body: string, headers: Readonly<Record<string, string>> = {}) =>
  response
    .writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store', ...headers })
    .end(body)

/**
 * `/livez`, `/readyz` and `/metrics`, for those who run the service. They say nothing of sessions by name, but how much
 * there is to do: the listener belongs on loopback or on a network of its own.
 */
export const openOperationsListener = async (options: OperationsListenerOptions): Promise<HttpListener> => {
  const { address, certificate, readiness, scrape, onFault } = options
  const answer: RequestListener = (request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      say(response, 405, 'only GET is allowed here\n', { Allow: 'GET, HEAD' })
      return
    }
    switch ((request.url ?? '').split('?', 1)[0]) {
      case '/livez':
        say(response, 200, 'alive\n')
        return
      case '/readyz':
        say(response, readiness().type === 'ready' ? 200 : 503, readinessLine(readiness()))
        return
      case '/metrics':
        scrape().then(
          ({ contentType, body }) => say(response, 200, body, { 'Content-Type': contentType }),
          (error: unknown) => {
            onFault(error)
            say(response, 500, 'the metrics could not be read\n')
          },
        )
        return
      default:
        say(response, 404, 'there is /livez, /readyz and /metrics\n')
    }
  }
  const http = await openHttp(address, { certificate, onFault })
  http.handle({
    request: answer,
    upgrade: (_request, socket) => {
      socket.destroy()
    },
  })
  return http
}
