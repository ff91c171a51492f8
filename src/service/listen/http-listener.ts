import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { refusalText } from '../../errors/refusal.js'
import type { SpeechError } from '../../errors/speech-error.js'
import { AcceptedConnections, type ProxyTrust } from './accepted-connections.js'
import { spreadRetryAfter } from '../../protocol/retry-after.js'
import type { ConnectionGate } from './connection-gate.js'
import {
  cutHandshake,
  checkPlainText,
  hostPort,
  listenError,
  withCertificate,
  type ListenAddress,
  type ServerCertificate,
} from './listen-address.js'

export interface HttpHandlers {
  readonly request: RequestListener
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
}

/** How long a client may take, in milliseconds. */
export interface HttpPatience {
  /** From the connection, or the previous request, to the end of the headers; the TLS handshake has as long again. */
  readonly headersMs: number
  /** To the end of the body. */
  readonly requestMs: number
  /** How often both are looked at. */
  readonly checkMs: number
  /** Without a byte in either direction, such as by a client that does not read its answer; sockets have deadlines of their own. */
  readonly idleMs: number
}

export const defaultHttpPatience: HttpPatience = {
  headersMs: 10_000,
  requestMs: 30_000,
  checkMs: 5_000,
  idleMs: 60_000,
}

export interface HttpListenerOptions {
  readonly certificate?: ServerCertificate | undefined
  readonly patience?: HttpPatience
  /** Told of connections that cannot be accepted. */
  readonly onFault?: (error: unknown) => void
  /** Counts connections; without it none is too many. */
  readonly gate?: ConnectionGate | undefined
  /** Proxies whose word on the address of a client counts. */
  readonly trust?: ProxyTrust | undefined
}

/** An HTTP server that listens; until `handle` it answers 503. */
export interface HttpListener {
  /** Such as `https://127.0.0.1:8443`. */
  readonly url: string
  readonly handle: (handlers: HttpHandlers) => void
  /** The client's address: that of the connection, or what trusted proxies tell by PROXY header or `X-Forwarded-For`. */
  readonly addressOf: (request: IncomingMessage) => string | undefined
  /** Why an upgrade is refused for the number of its connections; where it is not, its client is counted until it closes. */
  readonly refuseUpgrade: (request: IncomingMessage) => SpeechError | undefined
  /** Takes no more connections; resolves when the last one has ended, upgraded ones too. */
  readonly stopAccepting: () => Promise<void>
  /** Cuts what is still open. */
  readonly close: () => Promise<void>
}

const maxHeaderBytes = 32 * 1024

const createHttpServer = (
  certificate: ServerCertificate | undefined,
  { headersMs, requestMs, checkMs, idleMs }: HttpPatience,
  onRequest: RequestListener,
): Server => {
  const options = {
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: checkMs,
  }
  const create = (): Server => {
    if (certificate === undefined) return createServer(options, onRequest)
    const tls = { cert: certificate.certificate, key: certificate.key, handshakeTimeout: headersMs }
    return withCertificate(() => createTlsServer({ ...options, ...tls }, onRequest).on('tlsClientError', cutHandshake))
  }
  return create().setTimeout(idleMs)
}

/** Rejects with `listen-failed`, or `invalid-options` for plain text beyond loopback and a certificate that is none. */
export const openHttp = async (address: ListenAddress, options: HttpListenerOptions = {}): Promise<HttpListener> => {
  const { certificate, patience = defaultHttpPatience, onFault = () => undefined, gate, trust } = options
  checkPlainText(address, certificate)
  const connections = new AcceptedConnections({ gate, trust, headerWithinMs: patience.headersMs })
  let handlers: HttpHandlers | undefined
  const server = createHttpServer(certificate, patience, (request, response) => {
    const tooMany = connections.refusal(request.socket)
    if (tooMany !== undefined) {
      response.writeHead(429, { 'Retry-After': spreadRetryAfter(), Connection: 'close' }).end(refusalText(tooMany))
    } else if (handlers === undefined)
      response.writeHead(503, { 'Retry-After': spreadRetryAfter(), Connection: 'close' }).end()
    else handlers.request(request, response)
  })
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy())
    if (handlers === undefined) socket.destroy()
    else handlers.upgrade(request, socket, head)
  })
  server.on('clientError', answerUnreadable)
  connections.watch(server)
  const port = await listen(server, address)
  // A failure to accept one connection, such as too many open files, is no reason to end.
  server.on('error', onFault)
  const scheme = certificate === undefined ? 'http' : 'https'
  const closed = new Promise<void>((resolve) => server.once('close', resolve))
  return {
    url: `${scheme}://${hostPort(address, port)}`,
    handle: (given) => {
      handlers = given
    },
    addressOf: (request) => clientOf(request, connections, trust),
    refuseUpgrade: (request) => {
      const tooMany = connections.refusal(request.socket)
      if (tooMany !== undefined || gate === undefined || !connections.isShared(request.socket)) return tooMany
      const { refusal, release } = gate.admitClient(clientOf(request, connections, trust) ?? 'unknown')
      request.socket.once('close', release)
      return refusal
    },
    stopAccepting: () => {
      server.close()
      return closed
    },
    close: async () => {
      server.close()
      connections.destroyAll()
      await closed
    },
  }
}

/** What the parser's errors are in HTTP; any other is a request that cannot be read. */
const parserStatuses: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
}

const answerUnreadable = (error: Error & { readonly code?: string }, socket: Duplex): void => {
  const status = parserStatuses[error.code ?? ''] ?? '400 Bad Request'
  if (socket.writable) socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`, () => socket.destroy())
  else socket.destroy()
}

const clientOf = (
  { socket, headers }: IncomingMessage,
  connections: AcceptedConnections,
  trust: ProxyTrust | undefined,
): string | undefined => {
  const address = connections.addressOf(socket)
  const forwardedFor = headers['x-forwarded-for']
  return trust === undefined ? address : trust.proxies.clientOf(address, forwardedFor?.toString())
}

const listen = (server: Server, address: ListenAddress): Promise<number> =>
  new Promise((resolve, reject) => {
    const refuse = (error: unknown): void => {
      reject(listenError(address, error))
    }
    server.once('error', refuse)
    try {
      server.listen(address.port, address.host, () => {
        server.off('error', refuse)
        resolve((server.address() as AddressInfo).port)
      })
    } catch (error) {
      refuse(error)
    }
  })
