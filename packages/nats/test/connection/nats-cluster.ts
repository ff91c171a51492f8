import { createServer, connect, type AddressInfo, type Socket } from 'node:net'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../../../test/transport/tcp-proxy.js'
import { startNatsServer, type NatsServer } from './nats-server.js'

/** Three servers of NATS with JetStream, whose routes can be cut. */
export interface NatsCluster {
  readonly servers: readonly NatsServer[]
  /** Bytes from and to this server no longer arrive at the others, without an error; its clients still reach it. */
  readonly cut: (index: number) => void
  /** All routes carry bytes again. */
  readonly mend: () => void
  readonly close: () => Promise<void>
}

/** A route from one server to another, by a proxy. */
class Route {
  readonly server = createServer((socket) => this.#accept(socket))
  readonly #sockets = new Set<Socket>()
  #isCut = false

  constructor(readonly to: number) {}

  get port(): number {
    return (this.server.address() as AddressInfo).port
  }

  set isCut(isCut: boolean) {
    this.#isCut = isCut
    for (const socket of this.#sockets) {
      if (isCut) socket.pause()
      else socket.resume()
    }
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.server.close()
    await once(this.server, 'close')
  }

  #accept(near: Socket): void {
    const far = connect(this.to, '127.0.0.1')
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(one)
      one.on('data', (bytes) => other.write(bytes))
      one.on('error', () => undefined)
      one.on('close', () => {
        this.#sockets.delete(one)
        other.destroy()
      })
      if (this.#isCut) one.pause()
    }
  }
}

export const startNatsCluster = async (): Promise<NatsCluster> => {
  const folder = mkdtempSync(join(tmpdir(), 'nats-cluster-'))
  const ports = [await freePort(), await freePort(), await freePort()]
  const routes: { readonly from: number; readonly to: number; readonly route: Route }[] = []
  for (const from of ports.keys()) {
    for (const [to, port] of ports.entries()) {
      if (from === to) continue
      const route = new Route(port)
      route.server.listen(0, '127.0.0.1')
      await once(route.server, 'listening')
      routes.push({ from, to, route })
    }
  }
  const servers = await Promise.all(
    ports.map((port, index) => {
      const urls = routes.filter(({ from }) => from === index).map(({ route }) => `"nats://127.0.0.1:${route.port}"`)
      return startNatsServer({
        config: `
          server_name: n${index}
          jetstream { store_dir: "${join(folder, String(index))}" }
          # Servers tell each other an address without a server, so that all routes go by the proxies.
          cluster { name: c, listen: "127.0.0.1:${port}", advertise: "127.0.0.1:1", no_advertise: true, routes: [${urls.join(', ')}] }`,
      })
    }),
  )
  return {
    servers,
    cut: (index) => {
      for (const { from, to, route } of routes) if (from === index || to === index) route.isCut = true
    },
    mend: () => {
      for (const { route } of routes) route.isCut = false
    },
    close: async () => {
      for (const server of servers) await server.close()
      for (const { route } of routes) await route.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
