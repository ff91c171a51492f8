import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'

export interface Received {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/**
 * A receiver on this machine: records requests and answers as configured. With a certificate and its key it uses TLS.
 */
export const openReceiver = async (
  answer: (response: ServerResponse, count: number, request: IncomingMessage) => void,
  tls?: { readonly certificate: string; readonly key: string },
) => {
  const received: Received[] = []
  const sockets = new Set<Socket>()
  let running = 0
  let most = 0
  const take = (request: IncomingMessage, response: ServerResponse): void => {
    running += 1
    most = Math.max(most, running)
    response.on('close', () => (running -= 1))
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('error', () => undefined)
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      received.push({ method, url, headers, body: Buffer.concat(parts).toString() })
      answer(response, received.length, request)
    })
  }
  const server =
    tls === undefined ? createServer(take) : createSecureServer({ key: tls.key, cert: tls.certificate }, take)
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${(server.address() as AddressInfo).port}/hook?key=hidden`,
    received,
    maxAtOnce: () => most,
    close: async (): Promise<void> => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export const ok = (response: ServerResponse): void => {
  response.writeHead(204).end()
}

/** The names of the events of all requests, in order. */
export const namesIn = (received: readonly Received[]): readonly string[] =>
  received.flatMap(({ body }) => (JSON.parse(body) as { Events: { Name: string }[] }).Events.map(({ Name }) => Name))
