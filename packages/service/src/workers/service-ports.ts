import { createServer } from 'node:net'
import type { ConnectionGate } from 'rxspeech-server/listen/connection-gate'
import type { TrustedProxies } from 'rxspeech-server/listen/trusted-proxies'
import { type ListenAddress, listenOnPort } from 'rxspeech/internal/transport/listen-address'
import type { ListenerName } from './protocol.js'
import type { PassedConnection } from './worker-host.js'

export interface ServicePort {
  /** With the port that was chosen for port 0. */
  readonly address: ListenAddress
  /** Accepts no further connections. */
  readonly close: () => void
}

export interface ServicePortOptions {
  readonly listener: ListenerName
  readonly address: ListenAddress
  readonly gate: ConnectionGate
  /** Their connections are counted when the worker has read whose they are. */
  readonly proxies?: TrustedProxies | undefined
  readonly pass: (connection: PassedConnection) => void
  readonly onFault: (error: unknown) => void
}

/** Accepts the connections of a port, without reading from them, and counts them. Rejects with `listen-failed`. */
export const openServicePort = async (options: ServicePortOptions): Promise<ServicePort> => {
  const { listener, address, gate, proxies, pass, onFault } = options
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    socket.on('error', () => undefined)
    const isProxy = proxies?.has(socket.remoteAddress) === true
    const slot = isProxy ? undefined : gate.admit(socket.remoteAddress ?? 'unknown')
    if (isProxy || slot !== undefined) pass({ listener, socket, slot })
    else socket.destroy()
  })
  const port = await listenOnPort(server, address)
  server.on('error', onFault)
  return { address: { ...address, port }, close: () => server.close() }
}
