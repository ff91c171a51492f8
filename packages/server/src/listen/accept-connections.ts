import type { Server } from 'node:net'
import type { ListenAddress } from 'rxspeech/internal/transport/listen-address'

/** Makes a server accept connections, as `listenOnPort` does. Resolves with its port; rejects with `listen-failed`. */
export type AcceptConnections = (server: Server, address: ListenAddress) => Promise<number>
