import {
  constants,
  type Http2Server,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
import { createServer, type Server as NetServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { ServerCredentials, type Server } from '@grpc/grpc-js'
import {
  type ListenAddress,
  listenOnPort,
  tlsOptions,
  withCertificate,
} from 'rxspeech/internal/transport/listen-address'
import { AcceptedConnections } from './accepted-connections.js'
import type { AcceptConnections } from './accept-connections.js'
import { followRenewals, type ListenerCertificate } from './renewable-certificate.js'
import type { RequestAllowances, RequestClient } from './request-allowance.js'

export interface GrpcConnections {
  readonly port: number
  /** Accepts no further connections. */
  readonly stopAccepting: () => void
  /** Destroys the open connections. */
  readonly destroyAll: () => void
}

/** Deadlines for clients, in milliseconds. */
export interface GrpcTimeouts {
  /** For the TLS handshake. */
  readonly handshakeMs: number
  /** The interval of pings on an open connection. */
  readonly keepaliveMs: number
  /** For the response to a ping. */
  readonly keepaliveTimeoutMs: number
  /** How often connections are checked; a silent one is destroyed one to two intervals after its response was due. */
  readonly sweepMs: number
}

export const defaultGrpcTimeouts: GrpcTimeouts = {
  handshakeMs: 10_000,
  keepaliveMs: 20_000,
  keepaliveTimeoutMs: 20_000,
  sweepMs: 5_000,
}

/** Options that the gRPC server of `listenForGrpc` needs. */
export const keepaliveOptions = ({ keepaliveMs, keepaliveTimeoutMs }: GrpcTimeouts = defaultGrpcTimeouts) => ({
  'grpc.keepalive_time_ms': keepaliveMs,
  'grpc.keepalive_timeout_ms': keepaliveTimeoutMs,
})

export interface GrpcListenOptions {
  readonly address: ListenAddress
  readonly certificate?: ListenerCertificate | undefined
  /** @default a port of this process */
  readonly acceptConnections?: AcceptConnections | undefined
  /** Counts the connections. @default without limits */
  readonly accepted?: AcceptedConnections | undefined
  readonly timeouts?: GrpcTimeouts | undefined
  /** Limits the requests of a connection; without it they are not limited. */
  readonly allowances?: RequestAllowances | undefined
}

/**
 * Accepts connections and passes them to a gRPC server. So they are counted before TLS, a silent handshake has a
 * deadline, and a port in use is an error instead of a line on stderr. The server needs `keepaliveOptions` of the same
 * timeouts. Rejects with `listen-failed`.
 *
 * Node does not report the close of a TLS connection whose peer left while an HTTP/2 session was writing to it: neither
 * the session nor the socket emits an event, even after the session was destroyed. Because every living peer answers
 * pings, a socket without incoming bytes for longer than that takes is destroyed, which frees its descriptor.
 */
export const listenForGrpc = async (server: Server, options: GrpcListenOptions): Promise<GrpcConnections> => {
  const { address, certificate, acceptConnections = listenOnPort, timeouts = defaultGrpcTimeouts, allowances } = options
  const { accepted = new AcceptedConnections({ headerWithinMs: timeouts.handshakeMs }) } = options
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure())
  if (allowances !== undefined) limitRequests(server, allowances, accepted)
  const listener = createListener(certificate, timeouts.handshakeMs, (socket) => {
    // The gRPC package handles the close that follows.
    socket.on('error', () => undefined)
    injector.injectConnection(socket)
  })
  accepted.watch(listener)
  const { keepaliveMs, keepaliveTimeoutMs, sweepMs } = timeouts
  const stopSweep = destroySilentSockets(accepted.open, {
    silentMs: keepaliveMs + keepaliveTimeoutMs + sweepMs,
    everyMs: sweepMs,
  })
  listener.once('close', stopSweep)
  const port = await acceptConnections(listener, address).catch((error: unknown) => {
    stopSweep()
    throw error
  })
  // A connection that cannot be accepted, such as with too many open files, does not end the server.
  listener.on('error', () => undefined)
  return {
    port,
    stopAccepting: () => {
      listener.close()
    },
    destroyAll: () => {
      accepted.destroyAll()
    },
  }
}

/**
 * Resets the streams of a client that exceeds its limit of requests before they reach the gRPC package, which causes
 * most of the cost of a stream, and sends GOAWAY to its connection if it is the only client of that. Small parts of the
 * data of streams count as well.
 */
const limitRequests = (server: Server, allowances: RequestAllowances, accepted: AcceptedConnections): void => {
  for (const http2 of http2ServersOf(server)) {
    const listeners = http2.listeners('stream')
    http2.removeAllListeners('stream')
    http2.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, ...more: readonly unknown[]) => {
      const { session } = stream
      if (session === undefined || session.destroyed) return
      const client = accepted.requestClient(session.socket, headers['x-forwarded-for']?.toString())
      if (allowances.take(session, client)) {
        for (const listener of listeners) listener.call(http2, stream, headers, ...more)
        // After the gRPC package, which pauses the stream, so that this listener reads nothing by itself.
        stream.on('data', ({ length }: Buffer) => {
          if (length < smallPartBytes && !allowances.takePart(stream, session, client)) {
            end(stream, client, constants.NGHTTP2_ENHANCE_YOUR_CALM)
          }
        })
      } else {
        stream.on('error', () => undefined)
        end(stream, client, constants.NGHTTP2_REFUSED_STREAM)
      }
    })
  }
}

/** A DATA frame with less costs as much as a large one; 20 ms of audio have 160 bytes and more. */
const smallPartBytes = 64

const end = (stream: ServerHttp2Stream, { isShared }: RequestClient, code: number): void => {
  const { session } = stream
  stream.close(code)
  if (!isShared) closeSessionSoon(session)
}

const createListener = (
  certificate: ListenerCertificate | undefined,
  handshakeTimeoutMs: number,
  accept: (socket: Socket) => void,
): NetServer => {
  if (certificate === undefined) return createServer({ noDelay: true }, accept)
  const tls = tlsOptions(certificate, handshakeTimeoutMs)
  const server = withCertificate(() => createTlsServer({ ...tls, noDelay: true, ALPNProtocols: ['h2'] }, accept))
  // Node leaves the connection of a failed or late handshake open.
  server.on('tlsClientError', (_error, socket) => socket.destroy())
  return followRenewals(server, certificate)
}

interface SilenceLimit {
  /** A connection without incoming bytes for longer than this counts as lost, in milliseconds. */
  readonly silentMs: number
  /** How often the connections are checked, in milliseconds. */
  readonly everyMs: number
}

interface LastByte {
  readonly bytesRead: number
  readonly atMs: number
}

/**
 * Destroys the sockets that receive nothing for `silentMs`, until the returned function is called. It compares byte
 * counters, so it does not depend on events.
 */
const destroySilentSockets = (sockets: Iterable<Socket>, { silentMs, everyMs }: SilenceLimit): (() => void) => {
  const lastBytes = new WeakMap<Socket, LastByte>()
  const timer = setInterval(() => {
    const nowMs = performance.now()
    for (const socket of sockets) {
      const { bytesRead } = socket
      const last = lastBytes.get(socket)
      if (last?.bytesRead !== bytesRead) lastBytes.set(socket, { bytesRead, atMs: nowMs })
      else if (nowMs - last.atMs > silentMs) socket.destroy()
    }
  }, everyMs)
  timer.unref()
  return () => {
    clearInterval(timer)
  }
}

/**
 * Sends GOAWAY (RFC 9113 section 6.8), after which open streams continue. Never while frames of the session are being
 * read, because closing it there corrupts Node's memory and aborts the process.
 */
export const closeSessionSoon = (session: Http2Session | undefined): void => {
  setImmediate(() => {
    if (session?.closed === false) session.close()
  })
}

const isHttp2Server = (value: unknown): value is Http2Server =>
  typeof value === 'object' && value !== null && 'on' in value && 'updateSettings' in value

/**
 * The HTTP/2 servers inside a gRPC server, which has no public way to see a request for a method that it lacks. Empty
 * when the internals of the package change; those requests are then not counted.
 */
const http2ServersOf = (server: Server): readonly Http2Server[] => {
  const inside: unknown = Reflect.get(server, 'http2Servers')
  return inside instanceof Map ? [...inside.keys()].filter(isHttp2Server) : []
}
