import type { Server, Socket } from 'node:net'
import { firstValueFrom, Subject } from 'rxjs'
import type { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { ConnectionCounter } from './connection-gate.js'
import { takeProxyHeader } from './proxy-header.js'
import type { RequestClient } from './request-allowance.js'
import type { TrustedProxies } from './trusted-proxies.js'

/** The peer of a connection, of TCP or of the TLS above it. */
export interface Connection {
  readonly remoteAddress?: string | undefined
  readonly remotePort?: number | undefined
}

/** Whether the connections of trusted proxies may or must begin with a PROXY header. */
export const proxyProtocols = ['detected', 'required'] as const

/** The proxies that are trusted to report client addresses, and the protocol they use. */
export interface ProxyTrust {
  readonly proxies: TrustedProxies
  /** Whether their connections without a PROXY header are refused. */
  readonly isHeaderRequired: boolean
}

export interface AcceptedConnectionsOptions {
  readonly gate?: ConnectionCounter | undefined
  readonly trust?: ProxyTrust | undefined
  /** How long a trusted proxy may take to send the header, in milliseconds. */
  readonly headerWithinMs: number
}

/** What the connection itself does not contain. */
interface ConnectionInfo {
  /** The address of the client, if a proxy reported it. */
  readonly address?: string | undefined
  /** Whether the connection belongs to a proxy that named no client, so that several clients can share it. */
  readonly isShared: boolean
  readonly refusal?: SpeechError | undefined
}

/** The open connections of one server: counts them before TLS, and knows the address of their client. */
export class AcceptedConnections {
  readonly #options: AcceptedConnectionsOptions
  readonly #open = new Set<Socket>()
  readonly #empty$ = new Subject<undefined>()
  readonly #infos = new Map<string, ConnectionInfo>()

  constructor(options: AcceptedConnectionsOptions) {
    this.#options = options
  }

  get open(): ReadonlySet<Socket> {
    return this.#open
  }

  /** Intercepts each new connection of the server before the server's own listeners. */
  watch(server: Server): void {
    const listeners = server.listeners('connection')
    server.removeAllListeners('connection')
    server.on('connection', (socket: Socket) => {
      this.#open.add(socket)
      socket.once('close', () => {
        this.#open.delete(socket)
        if (this.#open.size === 0) this.#empty$.next(undefined)
      })
      socket.on('error', () => undefined)
      this.#accept(socket, () => {
        for (const listener of listeners) listener.call(server, socket)
      })
    })
  }

  /** The address of the client as reported by a trusted proxy, otherwise that of the connection. */
  addressOf(connection: Connection): string | undefined {
    return this.#infoOf(connection)?.address ?? connection.remoteAddress
  }

  /** Whether clients of several addresses can use the connection, so that its own address does not identify them. */
  isShared(connection: Connection): boolean {
    return this.#infoOf(connection)?.isShared ?? false
  }

  /**
   * The address of the client of a request: that of the connection, and on a shared one the address that trusted
   * proxies wrote into `X-Forwarded-For`; undefined if they wrote none.
   */
  clientOf(connection: Connection, forwardedFor: string | undefined): string | undefined {
    const address = this.addressOf(connection)
    const { trust } = this.#options
    const client = trust === undefined ? address : trust.proxies.clientOf(address, forwardedFor)
    return this.isShared(connection) && trust?.proxies.has(client) === true ? undefined : client
  }

  /** Whose request on a connection it is, of which `X-Forwarded-For` is the header. */
  requestClient(connection: Connection, forwardedFor: string | undefined): RequestClient {
    return { address: this.clientOf(connection, forwardedFor), isShared: this.isShared(connection) }
  }

  /** Why the connection is refused; undefined for an admitted one. */
  refusal(connection: Connection): SpeechError | undefined {
    return this.#infoOf(connection)?.refusal
  }

  /** Resolves when no connection is open. */
  async ended(): Promise<void> {
    if (this.#open.size > 0) await firstValueFrom(this.#empty$)
  }

  destroyAll(): void {
    for (const socket of this.#open) socket.destroy()
  }

  #infoOf(connection: Connection): ConnectionInfo | undefined {
    return this.#infos.size === 0 ? undefined : this.#infos.get(keyOf(connection))
  }

  #accept(socket: Socket, onAccepted: () => void): void {
    const { trust, headerWithinMs } = this.#options
    if (trust?.proxies.has(socket.remoteAddress) !== true) {
      void this.#count(socket, { isShared: false }, onAccepted)
      return
    }
    takeProxyHeader(socket, { isRequired: trust.isHeaderRequired, withinMs: headerWithinMs }, (address) => {
      void this.#count(socket, { address, isShared: address === undefined }, onAccepted)
    })
  }

  async #count(socket: Socket, client: ConnectionInfo, onAccepted: () => void): Promise<void> {
    const { gate } = this.#options
    const address = client.isShared ? undefined : (client.address ?? socket.remoteAddress ?? 'unknown')
    const slot = await gate?.admit(address, socket)
    if (socket.destroyed) {
      slot?.release()
      return
    }
    if (gate !== undefined && slot === undefined) {
      socket.destroy()
      return
    }
    const info = { ...client, refusal: slot?.refusal }
    const key = keyOf(socket)
    const isOrdinary = info.refusal === undefined && info.address === undefined && !info.isShared
    if (!isOrdinary) this.#infos.set(key, info)
    socket.once('close', () => {
      slot?.release()
      if (this.#infos.get(key) === info) this.#infos.delete(key)
    })
    onAccepted()
  }
}

/** TLS and the TCP below it are two sockets with the same peer. */
const keyOf = ({ remoteAddress = '', remotePort = 0 }: Connection): string => `${remoteAddress} ${remotePort}`
