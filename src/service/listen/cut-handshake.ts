import type { TLSSocket } from 'node:tls'

/** For `tlsClientError`: Node tells of a handshake that failed or took too long, and leaves the connection open. */
export const cutHandshake = (_error: Error, socket: TLSSocket): void => {
  socket.destroy()
}
