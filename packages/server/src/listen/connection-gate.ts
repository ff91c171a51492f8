import type { Socket } from 'node:net'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { type Release, Semaphore } from 'rxspeech-engines/semaphore'
import { RecentSuccesses } from '../identity/clients/recent-successes.js'
import { peerAddress } from '../identity/http/peer-address.js'

/** The limits of connections, and of streams without a session (PROTOCOL 8). */
export interface ConnectionLimits {
  /** Connections of all interfaces together. */
  readonly connections: number
  /** Connections of one address: an IPv4 address, or the /64 network of an IPv6 address. */
  readonly connectionsPerAddress: number
  /** gRPC streams before their Start. */
  readonly unstarted: number
  /** Such streams of one address. */
  readonly unstartedPerAddress: number
  /** Concurrent streams of one gRPC connection. */
  readonly streamsPerConnection: number
  /** The age at which a gRPC connection gets a GOAWAY, a tenth more or less, in milliseconds; 0 for never. */
  readonly connectionAgeMs: number
  /** How long its streams can continue then, in milliseconds. */
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

/** The slot of a connection among those that are counted. */
export interface ConnectionSlot {
  /** Why the connection is refused; undefined for an admitted one. */
  readonly refusal: SpeechError | undefined
  /** Must be called once. */
  readonly release: () => void
}

/** Counts connections, and streams before their Start: a `ConnectionGate`, or one in another process. */
export interface ConnectionCounter {
  /**
   * Counts a connection; without a slot it is destroyed. Without an address, because several clients share the
   * connection, it only counts in total.
   */
  admit(address: string | undefined, socket: Socket): Eventual<ConnectionSlot | undefined>
  /** Counts a client of a shared connection, which itself is counted already. */
  admitClient(address: string): Eventual<ConnectionSlot>
  /**
   * Counts a stream until its Start; undefined if the limit of the service or of the address is reached. Without an
   * address it only counts in total.
   */
  takeUnstarted(address: string | undefined): Eventual<Release | undefined>
  /** A session was admitted from the address, which keeps some places for it. */
  succeeded(address: string): void
}

type Eventual<T> = T | Promise<T>

/** This part of the places of the service is for addresses with a recent success, so that no stranger takes all of them. */
const reservedShare = 0.1

/**
 * Counts the connections of a service when they are accepted, before TLS and before a byte is read. Beyond the limit,
 * as many connections again get a refusal with its reason; further ones get no slot and are destroyed. A tenth of the
 * places of the service is for addresses from which a session was admitted within a day.
 */
export class ConnectionGate implements ConnectionCounter {
  readonly #limits: GateLimits
  readonly #unstarted: Semaphore
  readonly #byAddress = new Map<string, Count>()
  readonly #all: Count = { admitted: 0, refused: 0 }
  /** Where sessions were admitted. */
  readonly #successes: RecentSuccesses

  constructor(limits: GateLimits, now: () => number = () => performance.now()) {
    this.#limits = limits
    this.#successes = new RecentSuccesses(now)
    this.#unstarted = new Semaphore({ permits: limits.unstarted, permitsPerKey: limits.unstartedPerAddress })
  }

  admit(address: string | undefined): ConnectionSlot | undefined {
    const { connections, connectionsPerAddress } = this.#limits
    const own = address === undefined ? noConnections() : this.#countOf(address)
    const places = this.#placesFor(address, connections)
    const refusal = this.#all.admitted >= places ? serviceIsFull(places) : this.#refusalOf(own)
    const canExplain = this.#all.refused < connections && own.refused < connectionsPerAddress
    if (refusal !== undefined && !canExplain) return undefined
    return this.#createSlot(refusal, [this.#all, own], address)
  }

  admitClient(address: string): ConnectionSlot {
    const own = this.#countOf(address)
    const refusal = this.#refusalOf(own)
    return this.#createSlot(refusal, refusal === undefined ? [own] : [], address)
  }

  takeUnstarted(address: string | undefined): Release | undefined {
    const isFull = this.#unstarted.held >= this.#placesFor(address, this.#limits.unstarted)
    return isFull ? undefined : this.#unstarted.tryAcquire(address === undefined ? undefined : peerAddress(address))
  }

  succeeded(address: string): void {
    this.#successes.set(peerAddress(address), true)
  }

  #placesFor(address: string | undefined, places: number): number {
    const isKnown = address !== undefined && this.#successes.get(peerAddress(address)) === true
    return isKnown ? places : places - Math.floor(places * reservedShare)
  }

  #countOf(address: string): Count {
    return this.#byAddress.get(peerAddress(address)) ?? noConnections()
  }

  #refusalOf({ admitted }: Count): SpeechError | undefined {
    const { connectionsPerAddress } = this.#limits
    return admitted >= connectionsPerAddress ? addressIsFull(connectionsPerAddress) : undefined
  }

  #createSlot(refusal: SpeechError | undefined, counts: readonly Count[], address: string | undefined): ConnectionSlot {
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

/** The refusal of a stream when too many have not started. */
export const tooManyUnstarted = (): SpeechError =>
  new SpeechError(
    'overloaded',
    'Too many streams of the service or of this address have not started a session; try again later.',
  )
