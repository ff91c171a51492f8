import type { Server, Socket } from 'node:net'
import type { SpeechError } from '../../errors/speech-error.js'
import type { ConnectionGate } from './connection-gate.js'
import { readProxyHeader } from './proxy-header.js'
import { plainAddress, type TrustedProxies } from './trusted-proxies.js'

/** What is read of a connection, be it TCP or the TLS above it. */
export interface Connection {
  readonly remoteAddress?: string | undefined
  readonly remotePort?: number | undefined
}

export const proxyProtocols = ['detected', 'required'] as const
/** Whether the connections of trusted proxies may or must begin with a PROXY header. */
export type ProxyProtocol = (typeof proxyProtocols)[number]

/** Whose word on client addresses counts, and whether each of their connections has to begin with it. */
export interface ProxyTrust {
  readonly proxies: TrustedProxies
  /** Whether a connection of theirs without a PROXY header is refused. */
  readonly headerRequired: boolean
}

export interface AcceptedConnectionsOptions {
  readonly gate?: ConnectionGate | undefined
  readonly trust?: ProxyTrust | undefined
  /** How long a trusted proxy may take for its first bytes, in milliseconds. */
  readonly headerWithinMs: number
}

/** What differs from the connection itself. */
interface Known {
  /** The client's, where a proxy told it. */
  readonly address?: string | undefined
  /** Whether it is a proxy's own, without a client: others may share it. */
  readonly isShared: boolean
  readonly refusal?: SpeechError | undefined
}

/** The connections that one server has accepted: counted before TLS, and known by the address of their client. */
export class AcceptedConnections {
  readonly #options: AcceptedConnectionsOptions
  readonly #open = new Set<Socket>()
  readonly #known = new Map<string, Known>()

  constructor(options: AcceptedConnectionsOptions) {
    this.#options = options
  }

  get open(): ReadonlySet<Socket> {
    return this.#open
  }

  /** Before anything else is done with a connection of the server; what the server does by itself follows. */
  watch(server: Server): void {
    const follow = server.listeners('connection')
    server.removeAllListeners('connection')
    server.on('connection', (socket: Socket) => {
      this.#open.add(socket)
      socket.once('close', () => this.#open.delete(socket))
      socket.on('error', () => undefined)
      this.#accept(socket, () => {
        for (const listener of follow) listener.call(server, socket)
      })
    })
  }

  /** The client's address, where a trusted proxy tells it, or else that of the connection. */
  addressOf(connection: Connection): string | undefined {
    return this.#knownOf(connection)?.address ?? connection.remoteAddress
  }

  /** Whether clients of several addresses may use the connection, so that its own address says nothing of them. */
  isShared(connection: Connection): boolean {
    return this.#knownOf(connection)?.isShared ?? false
  }

  /** Why nothing is done for this connection; undefined for one that was let in. */
  refusal(connection: Connection): SpeechError | undefined {
    return this.#knownOf(connection)?.refusal
  }

  destroyAll(): void {
    for (const socket of this.#open) socket.destroy()
  }

  #knownOf(connection: Connection): Known | undefined {
    return this.#known.size === 0 ? undefined : this.#known.get(keyOf(connection))
  }

  #accept(socket: Socket, follow: () => void): void {
    const { trust, headerWithinMs } = this.#options
    if (trust?.proxies.has(socket.remoteAddress) !== true) {
      this.#count(socket, { isShared: false }, follow)
      return
    }
    takeProxyHeader(socket, { isRequired: trust.headerRequired, withinMs: headerWithinMs }, (address) => {
      this.#count(socket, { address, isShared: address === undefined }, follow)
    })
  }

  #count(socket: Socket, whose: Known, follow: () => void): void {
    const { gate } = this.#options
    const place = gate?.admit(whose.isShared ? undefined : (whose.address ?? socket.remoteAddress ?? 'unknown'))
    if (gate !== undefined && place === undefined) {
      socket.destroy()
      return
    }
    const known = { ...whose, refusal: place?.refusal }
    const key = keyOf(socket)
    const isOrdinary = known.refusal === undefined && known.address === undefined && !known.isShared
    if (!isOrdinary) this.#known.set(key, known)
    socket.once('close', () => {
      place?.release()
      if (this.#known.get(key) === known) this.#known.delete(key)
    })
    follow()
  }
}

/** TLS and the TCP below it are two sockets with one peer. */
const keyOf = ({ remoteAddress = '', remotePort = 0 }: Connection): string => `${remoteAddress} ${remotePort}`

/**
 * Reads the PROXY header from the start of a connection and leaves what follows unread. Calls back with the client's
 * address, or with undefined where the proxy names none or sends no header; destroys the socket where the header is
 * malformed, missing though required, or late.
 */
const takeProxyHeader = (
  socket: Socket,
  { isRequired, withinMs }: { readonly isRequired: boolean; readonly withinMs: number },
  then: (address: string | undefined) => void,
): void => {
  let bytes = Buffer.alloc(0)
  const refuse = (): void => {
    socket.destroy()
  }
  const late = setTimeout(refuse, withinMs)
  const goOn = (read: number, address: string | undefined): void => {
    socket.off('close', stop)
    stop()
    if (read < bytes.length) socket.unshift(bytes.subarray(read))
    then(address)
  }
  const onReadable = (): void => {
    const part = socket.read() as Buffer | null
    if (part === null) return
    bytes = Buffer.concat([bytes, part])
    const header = readProxyHeader(bytes)
    if (header.type === 'client') goOn(header.lengthBytes, plainAddress(header.address))
    else if (header.type === 'local') goOn(header.lengthBytes, undefined)
    else if (header.type === 'absent' && !isRequired) goOn(0, undefined)
    else if (header.type !== 'incomplete') refuse()
  }
  const stop = (): void => {
    clearTimeout(late)
    socket.off('readable', onReadable)
    socket.off('end', refuse)
  }
  socket.on('readable', onReadable)
  socket.once('end', refuse)
  socket.once('close', stop)
}
