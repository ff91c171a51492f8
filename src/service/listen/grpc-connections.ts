import { constants, type ServerHttp2Stream } from 'node:http2'
import { createServer, type AddressInfo, type Server as NetServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { ServerCredentials, type Server } from '@grpc/grpc-js'
import { closeSessionSoon, http2ServersOf } from '../../transport/grpc/server.js'
import { AcceptedConnections } from './accepted-connections.js'
import {
  cutHandshake,
  listenError,
  withCertificate,
  type ListenAddress,
  type ServerCertificate,
} from './listen-address.js'
import type { RequestAllowances } from './request-allowance.js'

export interface GrpcConnections {
  readonly port: number
  /** Takes no more connections. */
  readonly stop: () => void
  /** Cuts those that are open. */
  readonly cut: () => void
}

/** How long a client may take, in milliseconds. */
export interface GrpcPatience {
  /** The TLS handshake; as long as the headers of an HTTP request may take. */
  readonly handshakeMs: number
  /** How often an open connection is pinged. */
  readonly keepaliveMs: number
  /** How long the answer to a ping may take. */
  readonly keepaliveTimeoutMs: number
  /** How often connections are checked; a silent one is destroyed once to twice as long after the answer was due. */
  readonly sweepMs: number
}

export const defaultGrpcPatience: GrpcPatience = {
  handshakeMs: 10_000,
  keepaliveMs: 20_000,
  keepaliveTimeoutMs: 20_000,
  sweepMs: 5_000,
}

/** What the gRPC server of `listenForGrpc` needs among its options. */
export const keepaliveOptions = ({ keepaliveMs, keepaliveTimeoutMs }: GrpcPatience = defaultGrpcPatience) => ({
  'grpc.keepalive_time_ms': keepaliveMs,
  'grpc.keepalive_timeout_ms': keepaliveTimeoutMs,
})

export interface GrpcListenOptions {
  readonly address: ListenAddress
  readonly certificate?: ServerCertificate | undefined
  /** What counts the connections; by default one that lets in all. */
  readonly accepted?: AcceptedConnections
  readonly patience?: GrpcPatience
  /** What bounds the requests of a connection; without it nothing does. */
  readonly allowances?: RequestAllowances
}

/**
 * Accepts the connections of a gRPC server in its place. So they can be counted before TLS, one that says nothing in
 * its handshake can be cut, and a port that is taken is an error and not a line on stderr. The server needs
 * `keepaliveOptions` of the same patience. Rejects with `listen-failed`.
 *
 * Node reports no close of a TLS connection whose peer left while an HTTP/2 session was writing to it: neither the session
 * nor the socket emits anything, also after the session was destroyed. Since each living peer answers pings, a socket
 * without incoming bytes for longer than that takes is destroyed, which gives its descriptor back.
 */
export const listenForGrpc = async (server: Server, options: GrpcListenOptions): Promise<GrpcConnections> => {
  const { address, certificate, patience = defaultGrpcPatience, allowances } = options
  const { accepted = new AcceptedConnections({ headerWithinMs: patience.handshakeMs }) } = options
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure())
  if (allowances !== undefined) limitRequests(server, allowances)
  const listener = createListener(certificate, patience.handshakeMs, (socket) => {
    // The gRPC package learns of it by the close that follows.
    socket.on('error', () => undefined)
    injector.injectConnection(socket)
  })
  accepted.watch(listener)
  const { keepaliveMs, keepaliveTimeoutMs, sweepMs } = patience
  const stopSweep = destroySilent(accepted.open, {
    silentMs: keepaliveMs + keepaliveTimeoutMs + sweepMs,
    everyMs: sweepMs,
  })
  listener.once('close', stopSweep)
  return {
    port: await listen(listener, address).catch((error: unknown) => {
      stopSweep()
      throw error
    }),
    stop: () => {
      listener.close()
    },
    cut: () => {
      accepted.destroyAll()
    },
  }
}

/**
 * A connection that asks more often than its allowance is told to go away. What it asks until then is reset before the
 * gRPC package sees it, which would spend most of the time that a stream costs.
 */
const limitRequests = (server: Server, allowances: RequestAllowances): void => {
  for (const http2 of http2ServersOf(server)) {
    const follow = http2.listeners('stream')
    http2.removeAllListeners('stream')
    http2.on('stream', (stream: ServerHttp2Stream, ...more: readonly unknown[]) => {
      const { session } = stream
      if (session === undefined || allowances.of(session).take()) {
        for (const listener of follow) listener.call(http2, stream, ...more)
      } else {
        stream.on('error', () => undefined)
        stream.close(constants.NGHTTP2_REFUSED_STREAM)
        closeSessionSoon(session)
      }
    })
  }
}

const createListener = (
  certificate: ServerCertificate | undefined,
  handshakeTimeoutMs: number,
  accept: (socket: Socket) => void,
): NetServer => {
  if (certificate === undefined) return createServer({ noDelay: true }, accept)
  const tls = { cert: certificate.certificate, key: certificate.key, handshakeTimeout: handshakeTimeoutMs }
  return withCertificate(() =>
    createTlsServer({ ...tls, noDelay: true, ALPNProtocols: ['h2'] }, accept).on('tlsClientError', cutHandshake),
  )
}

const listen = (listener: NetServer, address: ListenAddress): Promise<number> =>
  new Promise((resolve, reject) => {
    const refuse = (error: unknown): void => {
      reject(listenError(address, error))
    }
    listener.once('error', refuse)
    listener.listen(address.port, address.host, () => {
      listener.off('error', refuse)
      // A failure to accept one connection, such as too many open files, is no reason to end.
      listener.on('error', () => undefined)
      resolve((listener.address() as AddressInfo).port)
    })
  })

export interface SilenceLimit {
  /** Without a byte for longer than this, in milliseconds, a connection counts as gone. */
  readonly silentMs: number
  /** How often the connections are checked, in milliseconds. */
  readonly everyMs: number
}

interface LastByte {
  readonly bytesRead: number
  readonly atMs: number
}

/**
 * Destroys the sockets of a set that receive nothing for `silentMs`, until the returned function is called. It compares
 * counters of the system's sockets, so it needs no event of theirs.
 */
export const destroySilent = (sockets: Iterable<Socket>, { silentMs, everyMs }: SilenceLimit): (() => void) => {
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
