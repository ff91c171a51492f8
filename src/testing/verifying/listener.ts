import { createServer, type Server as HttpServer, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { createServer as createNetServer, type Socket } from 'node:net'
import { createServer as createSecureServer } from 'node:tls'
import { Server, ServerCredentials } from '@grpc/grpc-js'
import { WebSocketServer } from 'ws'
import { refusalText } from '../../errors/refusal.js'
import { SpeechError } from '../../errors/speech-error.js'
import { checkOptions, nonEmptyText, optionsOf } from '../../protocol/validation.js'
import {
  checkPlainText,
  hostPort,
  listenOnPort,
  serverCertificateCodec,
  tlsOptions,
  withCertificate,
  type ServerCertificate,
} from '../../transport/listen-address.js'
import { grpcServerLink } from '../../transport/grpc/server.js'
import { loadDataflow } from '../../transport/grpc/proto.js'
import { webSocketLink } from '../../transport/websocket/server.js'
import type { DataflowMessage, Link, SocketMessage } from '../../transport/link.js'

const subprotocol = 'rxspeech'
const handshakeWithinMs = 10_000

/** Where the service listens. */
export interface VerifyingListenOptions {
  /** Enables TLS on both ports. @default none: plain text */
  readonly certificate?: ServerCertificate | undefined
  /** The address to listen on. An address that is not loopback needs a certificate. @default '127.0.0.1' */
  readonly host?: string | undefined
}

const listenOptions = optionsOf<VerifyingListenOptions>()(
  {},
  { certificate: serverCertificateCodec, host: nonEmptyText },
)

/** The ports of a verifying service. */
export interface VerifyingListener {
  /** The URL of the WebSocket, `ws://` or `wss://`. */
  readonly url: string
  /** The `host:port` of the gRPC stream. */
  readonly address: string
  /** Closes the ports and all connections. Idempotent. */
  close(): Promise<void>
}

/** Accepts the connections of either transport. */
export interface Endpoints {
  /** Checks the token of an upgrade. A refused upgrade counts as a connection. */
  readonly admit: (token: string | undefined) => boolean
  readonly acceptSocket: (link: Link<SocketMessage, SocketMessage>) => void
  readonly acceptStream: (link: Link<DataflowMessage, DataflowMessage>) => void
}

/** The token of an upgrade, from its header or its subprotocols (PROTOCOL 4.1). */
export const presentedToken = (
  authorization: string | undefined,
  protocols: readonly string[] = [],
): string | undefined =>
  /^Bearer (.+)$/.exec(authorization ?? '')?.[1] ??
  protocols.find((protocol) => protocol.startsWith('bearer.'))?.slice('bearer.'.length)

/** Listens on two free ports. Rejects with `listen-failed`, or `invalid-options` for an invalid certificate. */
export const listen = async (endpoints: Endpoints, options: VerifyingListenOptions): Promise<VerifyingListener> => {
  checkOptions(listenOptions, options)
  const { certificate, host = '127.0.0.1' } = options
  const address = { host, port: 0 }
  checkPlainText(address, certificate)
  const server = new Server({ 'grpc.max_send_message_length': -1 })
  server.addService(
    { ...loadDataflow() },
    {
      Stream: (call: Parameters<typeof grpcServerLink>[0]) => endpoints.acceptStream(grpcServerLink(call)),
    },
  )
  const http = createHttpServer(certificate)
  const sockets = acceptSockets(http, endpoints)
  const calls = acceptCalls(server, certificate)
  const close = async (): Promise<void> => {
    server.forceShutdown()
    for (const socket of sockets.clients) socket.terminate()
    http.closeAllConnections()
    await Promise.all([new Promise((resolve) => http.close(resolve)), calls.close()])
  }
  const [port, grpcPort] = await Promise.all([
    listenOnPort(http, address),
    listenOnPort(calls.listener, address),
  ]).catch(async (error: unknown) => {
    await close()
    throw error
  })
  let closing: Promise<void> | undefined
  return {
    url: `${certificate === undefined ? 'ws' : 'wss'}://${hostPort(address, port)}`,
    address: hostPort(address, grpcPort),
    close: () => (closing ??= close()),
  }
}

const createHttpServer = (certificate: ServerCertificate | undefined): HttpServer => {
  const answer = (_request: unknown, response: ServerResponse): unknown => response.writeHead(404).end()
  return certificate === undefined
    ? createServer(answer)
    : withCertificate(() => createTlsServer(tlsOptions(certificate, handshakeWithinMs), answer))
}

/** Passes connections to a gRPC server. Its own listeners leave sockets open for a while after it is closed. */
const acceptCalls = (server: Server, certificate: ServerCertificate | undefined) => {
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure())
  const open = new Set<Socket>()
  const accept = (socket: Socket): void => {
    open.add(socket)
    socket.on('error', () => undefined).once('close', () => open.delete(socket))
    injector.injectConnection(socket)
  }
  const listener =
    certificate === undefined
      ? createNetServer(accept)
      : withCertificate(() =>
          createSecureServer({ ...tlsOptions(certificate, handshakeWithinMs), ALPNProtocols: ['h2'] }, accept),
        )
  return {
    listener,
    close: (): Promise<unknown> => {
      for (const socket of open) socket.destroy()
      return new Promise((resolve) => listener.close(resolve))
    },
  }
}

/** Accepts WebSockets whose token `admit` accepts. */
const acceptSockets = (server: HttpServer, endpoints: Endpoints): WebSocketServer => {
  const refusal = refusalText(new SpeechError('unauthenticated', 'The token is not accepted.'))
  const sockets = new WebSocketServer({
    server,
    perMessageDeflate: false,
    handleProtocols: (offered) => (offered.has(subprotocol) ? subprotocol : false),
    verifyClient: ({ req: { headers } }, answer) => {
      const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((protocol) => protocol.trim())
      if (endpoints.admit(presentedToken(headers.authorization, offered))) answer(true)
      else answer(false, 401, refusal, { 'WWW-Authenticate': 'Bearer' })
    },
  })
  // Whoever listens with the server has its errors.
  sockets.on('error', () => undefined)
  return sockets.on('connection', (socket) => endpoints.acceptSocket(webSocketLink(socket)))
}
