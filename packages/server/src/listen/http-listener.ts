import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Duplex } from 'node:stream'
import { refusalText } from 'rxspeech/internal/errors/refusal'
import type { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { spreadRetryAfter } from 'rxspeech/internal/protocol/retry-after'
import {
  checkPlainText,
  hostPort,
  type ListenAddress,
  listenOnPort,
  tlsOptions,
  withCertificate,
} from 'rxspeech/internal/transport/listen-address'
import { AcceptedConnections, type ProxyTrust } from './accepted-connections.js'
import type { AcceptConnections } from './accept-connections.js'
import type { ConnectionCounter } from './connection-gate.js'
import { followRenewals, type ListenerCertificate } from './renewable-certificate.js'
import { noSniff } from './upgrade-request.js'

interface HttpHandlers {
  readonly request: RequestListener
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
}

/** Deadlines for clients, in milliseconds. */
export interface HttpTimeouts {
  /** From the connection, or from the previous request, to the end of the headers; and for the TLS handshake. */
  readonly headersMs: number
  /** From there to the end of the body. */
  readonly requestMs: number
  /** How often both are checked. */
  readonly checkMs: number
  /** Without a byte in either direction, such as when a client does not read its response; WebSockets have their own deadlines. */
  readonly idleMs: number
}

const defaultHttpTimeouts: HttpTimeouts = {
  headersMs: 10_000,
  requestMs: 30_000,
  checkMs: 5_000,
  idleMs: 60_000,
}

export interface HttpListenerOptions {
  readonly certificate?: ListenerCertificate | undefined
  readonly timeouts?: Partial<HttpTimeouts> | undefined
  /** Called with errors of accepting connections. */
  readonly onFault?: ((error: unknown) => void) | undefined
  /** Counts connections; without it they are not limited. */
  readonly gate?: ConnectionCounter | undefined
  /** Proxies that are trusted to report the address of a client. */
  readonly trust?: ProxyTrust | undefined
  /** @default a port of this process */
  readonly acceptConnections?: AcceptConnections | undefined
}

/** What emits `close` once: a connection or a response. */
export interface Closing {
  readonly destroyed: boolean
  readonly once: (event: 'close', listener: () => void) => unknown
}

/** An HTTP server that listens; it answers 503 until `handle` is called. */
export interface HttpListener {
  /** Such as `https://127.0.0.1:8443`. */
  readonly url: string
  readonly handle: (handlers: HttpHandlers) => void
  /**
   * The address of the client: that of the connection, or as reported by trusted proxies (PROXY header,
   * `X-Forwarded-For`).
   */
  readonly addressOf: (request: IncomingMessage) => string | undefined
  /**
   * Why a session is refused because of connection limits. Otherwise counts its client until the connection closes, or
   * another part of it, such as the response.
   */
  readonly refuseSession: (request: IncomingMessage, until?: Closing) => Promise<SpeechError | undefined>
  /** A session was admitted for the request: its address keeps some places. */
  readonly succeeded: (request: IncomingMessage) => void
  /** Accepts no further connections; resolves when all have ended, including upgraded ones. */
  readonly stopAccepting: () => Promise<void>
  /** Destroys all open connections. */
  readonly close: () => Promise<void>
}

const maxHeaderBytes = 32 * 1024

const createHttpServer = (
  certificate: ListenerCertificate | undefined,
  { headersMs, requestMs, checkMs, idleMs }: HttpTimeouts,
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
    const tls = tlsOptions(certificate, headersMs)
    const server = withCertificate(() => createTlsServer({ ...options, ...tls }, onRequest))
    // Node leaves the connection of a failed or late handshake open.
    server.on('tlsClientError', (_error, socket) => socket.destroy())
    return followRenewals(server, certificate)
  }
  return create().setTimeout(idleMs)
}

/** Listens. Rejects with `listen-failed`, or with `invalid-options` for plain text beyond loopback or an unusable certificate. */
export const openHttp = async (address: ListenAddress, options: HttpListenerOptions = {}): Promise<HttpListener> => {
  const { certificate, onFault = () => undefined, gate, trust } = options
  const { acceptConnections = listenOnPort } = options
  const timeouts = { ...defaultHttpTimeouts, ...options.timeouts }
  checkPlainText(address, certificate)
  const connections = new AcceptedConnections({ gate, trust, headerWithinMs: timeouts.headersMs })
  let handlers: HttpHandlers | undefined
  const server = createHttpServer(certificate, timeouts, (request, response) => {
    response.setHeader('X-Content-Type-Options', 'nosniff')
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
  server.on('clientError', answerParserError)
  connections.watch(server)
  const port = await acceptConnections(server, address)
  // A connection that cannot be accepted, such as with too many open files, does not end the server.
  server.on('error', onFault)
  const scheme = certificate === undefined ? 'http' : 'https'
  const closed = new Promise<void>((resolve) => server.once('close', resolve))
  // A server whose connections come from elsewhere closes without waiting for them.
  const ended = async (): Promise<void> => {
    await closed
    await connections.ended()
  }
  return {
    url: `${scheme}://${hostPort(address, port)}`,
    handle: (given) => {
      handlers = given
    },
    addressOf: (request) => clientOf(request, connections) ?? connections.addressOf(request.socket),
    refuseSession: async (request, until = request.socket) => {
      const tooMany = connections.refusal(request.socket)
      if (tooMany !== undefined || gate === undefined || !connections.isShared(request.socket)) return tooMany
      const client = clientOf(request, connections)
      // Counts in total only, as its connection does.
      if (client === undefined) return undefined
      const { refusal, release } = await gate.admitClient(client)
      if (until.destroyed) release()
      else until.once('close', release)
      return refusal
    },
    succeeded: (request) => {
      const client = clientOf(request, connections)
      if (client !== undefined) gate?.succeeded(client)
    },
    stopAccepting: () => {
      server.close()
      return ended()
    },
    close: async () => {
      server.close()
      connections.destroyAll()
      await ended()
    },
  }
}

/** The HTTP status for errors of the parser; 400 for all others. */
const parserStatuses: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
}

const answerParserError = (error: Error & { readonly code?: string }, socket: Duplex): void => {
  const status = parserStatuses[error.code ?? ''] ?? '400 Bad Request'
  if (socket.writable)
    socket.end(`HTTP/1.1 ${status}\r\n${noSniff}\r\nConnection: close\r\n\r\n`, () => socket.destroy())
  else socket.destroy()
}

const clientOf = ({ socket, headers }: IncomingMessage, connections: AcceptedConnections): string | undefined =>
  connections.clientOf(socket, headers['x-forwarded-for']?.toString())
