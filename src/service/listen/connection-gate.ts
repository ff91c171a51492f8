import { SpeechError } from '../../errors/speech-error.js'
import { Semaphore } from '../../kernel/semaphore.js'
import { peerAddress } from '../identity/http/peer-address.js'

/** How many connections may be open, and how many may be open and have no session. */
export interface ConnectionLimits {
  /** Connections of all interfaces. */
  readonly connections: number
  /** Those of one address: an IPv4 address, or the /64 network of an IPv6 one. */
  readonly connectionsPerAddress: number
  /** Streams without a Start. */
  readonly unstarted: number
  /** Those of one address. */
  readonly unstartedPerAddress: number
  /** Streams of one gRPC connection. */
  readonly streamsPerConnection: number
  /** How old a gRPC connection gets, give or take a tenth, before it is told to go away, in milliseconds; 0 is any age. */
  readonly connectionAgeMs: number
  /** How long its streams may go on then, in milliseconds. */
  readonly connectionGraceMs: number
}

export type GateLimits = Pick<
  ConnectionLimits,
  'connections' | 'connectionsPerAddress' | 'unstarted' | 'unstartedPerAddress'
>

interface Count {
  admitted: number
  refused: number
}

/** The place of a connection. */
export interface ConnectionPlace {
  /** Why nothing is done for this connection; undefined for one that was let in. */
  readonly refusal: SpeechError | undefined
  /** Once. */
  readonly release: () => void
}

/**
 * Counts the connections of a service as they are accepted, before TLS and before a byte is read. As many again as are
 * let in may be told why they are not; what comes on top of that has no place and is cut without a word.
 */
export class ConnectionGate {
  readonly #limits: GateLimits
  readonly #unstarted: Semaphore
  readonly #byAddress = new Map<string, Count>()
  readonly #all: Count = { admitted: 0, refused: 0 }

  constructor(limits: GateLimits) {
    this.#limits = limits
    this.#unstarted = new Semaphore({ permits: limits.unstarted, permitsPerKey: limits.unstartedPerAddress })
  }

  /** Without an address where clients of many addresses share the connection: then it counts in all only. */
  admit(address: string | undefined): ConnectionPlace | undefined {
    const { connections, connectionsPerAddress } = this.#limits
    const own = address === undefined ? noConnections() : this.#countOf(address)
    const isFull = this.#all.admitted >= connections
    const refusal = isFull ? serviceIsFull(connections) : this.#refusalOf(own)
    const isTold = this.#all.refused < connections && own.refused < connectionsPerAddress
    if (refusal !== undefined && !isTold) return undefined
    return this.#place(refusal, [this.#all, own], address)
  }

  /** Counts a client whose connection is counted already, as one that clients of many addresses may share. */
  admitClient(address: string): ConnectionPlace {
    const own = this.#countOf(address)
    const refusal = this.#refusalOf(own)
    return this.#place(refusal, refusal === undefined ? [own] : [], address)
  }

  /** A place for a stream until its Start, and how to give it back; undefined where the address or the service has none left. */
  takeUnstarted(address: string): (() => void) | undefined {
    return this.#unstarted.tryAcquire(peerAddress(address))
  }

  #countOf(address: string): Count {
    return this.#byAddress.get(peerAddress(address)) ?? noConnections()
  }

  #refusalOf({ admitted }: Count): SpeechError | undefined {
    const { connectionsPerAddress } = this.#limits
    return admitted >= connectionsPerAddress ? addressIsFull(connectionsPerAddress) : undefined
  }

  #place(refusal: SpeechError | undefined, counts: readonly Count[], address: string | undefined): ConnectionPlace {
    const kind = refusal === undefined ? 'admitted' : 'refused'
    const key = address === undefined ? undefined : peerAddress(address)
    const [own] = counts.slice(-1)
    if (key !== undefined && own !== undefined) this.#byAddress.set(key, own)
    for (const count of counts) count[kind] += 1
    return {
      refusal,
      release: () => {
        for (const count of counts) count[kind] -= 1
        if (key !== undefined && own?.admitted === 0 && own.refused === 0) this.#byAddress.delete(key)
      },
    }
  }
}

const noConnections = (): Count => ({ admitted: 0, refused: 0 })

const serviceIsFull = (connections: number): SpeechError =>
  new SpeechError('overloaded', `The service has ${connections} connections, its limit; try again later.`)

const addressIsFull = (connections: number): SpeechError =>
  new SpeechError('overloaded', `The address has ${connections} connections, its limit; close one or try again later.`)

/** Why a stream is refused when too many have not begun. */
export const tooManyUnstarted = (): SpeechError =>
  new SpeechError(
    'overloaded',
    'Too many streams of the service or of this address have not started a session; try again later.',
  )
