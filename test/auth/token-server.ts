import * as http from 'node:http'
import * as https from 'node:https'
import type { AddressInfo } from 'node:net'

export interface TokenServer {
  readonly authUrl: string
  /** Bodies of the received requests, in order. */
  readonly bodies: readonly string[]
  readonly paths: readonly string[]
  readonly close: () => Promise<void>
}

type Answer = (request: http.IncomingMessage, response: http.ServerResponse) => void

/** A token endpoint on a free port that sends the given response once the body is read. */
export const serveTokens = async (
  answer: Answer,
  tls?: { readonly key: string; readonly cert: string },
): Promise<TokenServer> => {
  const bodies: string[] = []
  const paths: string[] = []
  const listener = (request: http.IncomingMessage, response: http.ServerResponse): void => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      bodies.push(Buffer.concat(parts).toString())
      paths.push(`${request.method ?? ''} ${request.url ?? ''}`)
      answer(request, response)
    })
  }
  const server = tls ? https.createServer(tls, listener) : http.createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    authUrl: `${tls ? 'https' : 'http'}://localhost:${port}`,
    bodies,
    paths,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
