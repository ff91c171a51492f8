import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Socket } from 'node:net'
import {
  listenOnPort,
  tlsOptions,
  withCertificate,
  type ListenAddress,
  type ServerCertificate,
} from 'rxspeech/internal/transport/listen-address'
import type { UpgradeArguments } from 'rxspeech-server/listen/socket-opener'

export interface StandInHandlers {
  readonly request: (request: IncomingMessage, response: ServerResponse) => void
  readonly upgrade: (...upgrade: UpgradeArguments) => void
}

const handshakeWithinMs = 10_000

/** Listens for tests: also without TLS on any address, and without limits of connections. Rejects with `listen-failed`. */
export const openListener = async (
  address: ListenAddress,
  certificate: ServerCertificate | undefined,
  handlers: StandInHandlers,
): Promise<{ readonly port: number; readonly close: () => Promise<void> }> => {
  const server: Server =
    certificate === undefined
      ? createServer(handlers.request)
      : withCertificate(() => createTlsServer(tlsOptions(certificate, handshakeWithinMs), handlers.request))
  const open = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.on('error', () => undefined).once('close', () => open.delete(socket))
  })
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    socket.on('error', () => socket.destroy())
    handlers.upgrade(request, socket, head)
  })
  const port = await listenOnPort(server, address)
  return {
    port,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of open) socket.destroy()
      await closed
    },
  }
}
