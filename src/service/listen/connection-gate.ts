import { SpeechError } from '../../errors/speech-error.js'
import { peerAddress } from '../identity/peer-address.js'
import { Places } from './places.js'

/** How many connections may be open, and how many may be open and have no session. */
export interface ConnectionLimits {
  /** Connections of all interfaces. */
  readonly connections: number
  /** Those of one address: an IPv4 address, or the /64 network of an IPv6 one. */
  readonly connectionsPerAddress: number
  /** Streams without a Start, and sockets that have not asked for a recognition yet. */
  readonly unstarted: number
}

/** What is read of a connection, be it TCP or the TLS above it. */
export interface Connection {
  readonly remoteAddress?: string | undefined
  readonly remotePort?: number | undefined
}

interface CountedConnection extends Connection {
  once(event: 'close', listener: () => void): unknown
  destroy(): unknown
}

interface Count {
  admitted: number
  refused: number
}

/**
 * Counts the connections of a service as they are accepted, before TLS and before a byte is read. As many again as are
 * let in may be told why they are not; what comes on top of that is cut without a word, for words cost, too.
 */
export class ConnectionGate {
  readonly unstarted: Places
  readonly #limits: ConnectionLimits
  readonly #byAddress = new Map<string, Count>()
  readonly #refusals = new Map<string, SpeechError>()
  readonly #all: Count = { admitted: 0, refused: 0 }

  constructor(limits: ConnectionLimits) {
    this.#limits = limits
    this.unstarted = new Places(limits.unstarted)
  }

  /** Counts a connection until it closes, and cuts it where there are far too many. */
  take(connection: CountedConnection): void {
    const address = peerAddress(connection.remoteAddress)
    const own = this.#byAddress.get(address) ?? { admitted: 0, refused: 0 }
    const { connections, connectionsPerAddress } = this.#limits
    const error = this.#refusal(own)
    if (error !== undefined && (this.#all.refused >= connections || own.refused >= connectionsPerAddress)) {
      connection.destroy()
      return
    }
    const key = keyOf(connection)
    const kind = error === undefined ? 'admitted' : 'refused'
    if (error !== undefined) this.#refusals.set(key, error)
    this.#byAddress.set(address, own)
    own[kind] += 1
    this.#all[kind] += 1
    connection.once('close', () => {
      own[kind] -= 1
      this.#all[kind] -= 1
      this.#refusals.delete(key)
      if (own.admitted + own.refused === 0) this.#byAddress.delete(address)
    })
  }

  /** Why nothing is done for this connection; undefined for one that was let in. */
  refusal(connection: Connection): SpeechError | undefined {
    return this.#refusals.size === 0 ? undefined : this.#refusals.get(keyOf(connection))
  }

  #refusal({ admitted }: Count): SpeechError | undefined {
    const { connections, connectionsPerAddress } = this.#limits
    if (this.#all.admitted >= connections) {
      const text = `The service has ${connections} connections, its limit; try again later.`
      return new SpeechError('overloaded', text)
    }
    if (admitted < connectionsPerAddress) return undefined
    const text = `The address has ${connectionsPerAddress} connections, its limit; close one or try again later.`
    return new SpeechError('overloaded', text)
  }
}

/** TLS and the TCP below it are two sockets with one peer. */
const keyOf = ({ remoteAddress = '', remotePort = 0 }: Connection): string => `${remoteAddress} ${remotePort}`

/** Why a stream or a socket is refused when too many have not begun. */
export const tooManyUnstarted = (): SpeechError =>
  new SpeechError('overloaded', 'Too many connections of the service have not started a session; try again later.')
