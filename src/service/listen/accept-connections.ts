import type { AddressInfo, Server } from 'node:net'
import { listenError, type ListenAddress } from './listen-address.js'

/** Makes a server accept connections. Resolves with its port; rejects with `listen-failed`. */
export type AcceptConnections = (server: Server, address: ListenAddress) => Promise<number>

/** Listens on a port of this process. */
export const listenOnPort: AcceptConnections = (server, address) =>
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
