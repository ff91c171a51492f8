import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { checkPlainText, hostPort, listenError, type ListenAddress, type ServerCertificate } from './listen-address.js'

export interface HttpHandlers {
  readonly request: RequestListener
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
}

/** An HTTP server that listens; until `handle` it answers 503. */
export interface HttpListener {
  /** Such as `https://127.0.0.1:8443`. */
  readonly url: string
  readonly handle: (handlers: HttpHandlers) => void
  /** Takes no more connections. */
  readonly stopAccepting: () => void
  /** Ends what is still open. */
  readonly close: () => Promise<void>
}

/** Rejects with `listen-failed`, or `invalid-options` for plain text beyond loopback. */
export const openHttp = async (address: ListenAddress, certificate?: ServerCertificate): Promise<HttpListener> => {
  checkPlainText(address, certificate)
  let handlers: HttpHandlers | undefined
  const onRequest: RequestListener = (request, response) => {
    if (handlers === undefined) response.writeHead(503, { 'Retry-After': '1', Connection: 'close' }).end()
    else handlers.request(request, response)
  }
  const options = { maxHeaderSize: 32 * 1024, requestTimeout: 30_000, headersTimeout: 10_000 }
  const server: Server =
    certificate === undefined
      ? createServer(options, onRequest)
      : createTlsServer({ ...options, cert: certificate.certificate, key: certificate.key }, onRequest)
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy())
    if (handlers === undefined) socket.destroy()
    else handlers.upgrade(request, socket, head)
  })
  server.on('clientError', (_error, socket) => {
    if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n')
  })
  const port = await listen(server, address)
  const scheme = certificate === undefined ? 'http' : 'https'
  const closed = new Promise<void>((resolve) => server.once('close', resolve))
  return {
    url: `${scheme}://${hostPort(address, port)}`,
    handle: (given) => {
      handlers = given
    },
    stopAccepting: () => {
      server.close()
      server.closeIdleConnections()
    },
    close: async () => {
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

const listen = (server: Server, address: ListenAddress): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', (error) => {
      reject(listenError(address, error))
    })
    server.listen(address.port, address.host, () => {
      resolve((server.address() as AddressInfo).port)
    })
  })
