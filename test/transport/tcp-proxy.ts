import { randomInt } from 'node:crypto'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

export interface TcpProxy {
  readonly port: number
  /** Breaks every connection, as a network failure does. */
  cut(): void
  /** Holds all data until `release`, then delivers everything together. */
  hold(): void
  release(): void
  /** Resolves when no connection is left, or immediately if there is none. */
  unused(): Promise<void>
  close(): Promise<void>
}

export const portOf = (server: { address(): AddressInfo | string | null }): number => {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The server does not listen on a port.')
  return address.port
}

export const listen = async (server: Server, port = 0): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return portOf(server)
}

export const stop = (server: Server): Promise<void> => new Promise((resolve) => server.close(() => resolve()))

/** Forwards to a port of this machine, so that a test can break the connection, or change the port. */
export const tcpProxy = async (targetPort: number | (() => number)): Promise<TcpProxy> => {
  const sockets = new Set<Socket>()
  const waiting = new Set<() => void>()
  const keep = (socket: Socket): Socket => {
    sockets.add(socket)
    socket.setNoDelay()
    socket.on('error', () => {})
    return socket.on('close', () => {
      sockets.delete(socket)
      if (sockets.size > 0) return
      waiting.forEach((resolve) => resolve())
      waiting.clear()
    })
  }
  const server = createServer((near) => {
    const port = typeof targetPort === 'number' ? targetPort : targetPort()
    const far = keep(connect(port, '127.0.0.1'))
    keep(near).pipe(far).pipe(near)
    // A connection that breaks does not end its pipe.
    near.on('close', () => far.destroySoon())
    far.on('close', () => near.destroySoon())
  })
  const port = await listen(server)
  // Node never closes the handle of a socket that is reset after it was ended.
  const cut = (): void =>
    sockets.forEach((socket) => (socket.writableEnded ? socket.destroy() : socket.resetAndDestroy()))
  return {
    port,
    cut,
    hold: () => sockets.forEach((socket) => socket.cork()),
    release: () => sockets.forEach((socket) => socket.uncork()),
    unused: () => new Promise((resolve) => (sockets.size === 0 ? resolve() : waiting.add(resolve))),
    close: () => {
      sockets.forEach((socket) => socket.destroy())
      return stop(server)
    },
  }
}

/** Accepts connections and never sends a byte. */
export const blackHole = async (): Promise<{ readonly port: number; close(): Promise<void> }> => {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.resume()
  })
  const port = await listen(server)
  return {
    port,
    close: () => {
      sockets.forEach((socket) => socket.destroy())
      return stop(server)
    },
  }
}

/**
 * A port of this machine on which nothing listens, and which stays free until it is used: it is below those that the
 * system gives to outgoing connections and to listeners on port 0, of which other tests have many meanwhile.
 */
export const freePort = async (): Promise<number> => {
  for (;;) {
    const port = randomInt(20_000, 32_768)
    const server = createServer()
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true))
    })
    if (!isFree) continue
    await stop(server)
    return port
  }
}
