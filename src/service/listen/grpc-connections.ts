import { createServer, type AddressInfo, type Server as NetServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { ServerCredentials, type Server } from '@grpc/grpc-js'
import type { ConnectionGate } from './connection-gate.js'
import { cutHandshake } from './cut-handshake.js'
import { listenError, withCertificate, type ListenAddress, type ServerCertificate } from './listen-address.js'

export interface GrpcConnections {
  readonly port: number
  /** Takes no more connections. */
  readonly stop: () => void
  /** Cuts those that are open. */
  readonly cut: () => void
}

/** As long as the headers of an HTTP request may take. */
const patienceMs = 10_000

/**
 * Accepts the connections of a gRPC server in its place. So they can be counted before TLS, one that says nothing in
 * its handshake can be cut, and a port that is taken is an error and not a line on stderr. Rejects with `listen-failed`.
 */
export const listenForGrpc = async (
  server: Server,
  address: ListenAddress,
  certificate: ServerCertificate | undefined,
  gate: ConnectionGate | undefined,
  handshakeTimeoutMs = patienceMs,
): Promise<GrpcConnections> => {
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure())
  const listener = createListener(certificate, handshakeTimeoutMs, (socket) => {
    // The gRPC package learns of it by the close that follows.
    socket.on('error', () => undefined)
    injector.injectConnection(socket)
  })
  const open = new Set<Socket>()
  listener.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
    socket.on('error', () => undefined)
    gate?.take(socket)
  })
  return {
    port: await listen(listener, address),
    stop: () => {
      listener.close()
    },
    cut: () => {
      for (const socket of open) socket.destroy()
    },
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
