import type { Http2Session, ServerHttp2Stream } from 'node:http2'
import { peerAddress } from '../identity/http/peer-address.js'

/** More than any client sends at once for health, reflection or without a token. */
const defaultBurst = 500
/** Enough for a gateway with many clients. */
const perSecond = 50

/** So many small parts of the data of streams count as one request. */
const partsPerRequest = 100

/** An address may make so many times the requests of a connection, in all of its connections together. */
const addressFactor = 4

/** Limits requests without a valid token, of a connection or of an address: a token bucket (PROTOCOL 8). */
export class RequestAllowance {
  readonly #now: () => number
  readonly #burst: number
  readonly #factor: number
  #left: number
  #atMs: number

  /** @param factor how many times the requests of a connection are allowed */
  constructor(burst = defaultBurst, now: () => number = () => performance.now(), factor = 1) {
    this.#now = now
    this.#factor = factor
    this.#burst = burst * factor
    this.#left = this.#burst
    this.#atMs = now()
  }

  /** Whether no request was made recently. */
  get isFull(): boolean {
    this.#refill()
    return this.#left === this.#burst
  }

  /** Counts a request, or a part of one; returns false if the limit is exceeded. */
  take(count = 1): boolean {
    this.#refill()
    if (this.#left < count) return false
    this.#left -= count
    return true
  }

  /** Returns the count of a request that became a session with a valid token, which has its own limits. */
  giveBack(): void {
    this.#left = Math.min(this.#burst, this.#left + 1)
  }

  #refill(): void {
    const nowMs = this.#now()
    const refilled = ((nowMs - this.#atMs) * perSecond * this.#factor) / 1000
    this.#left = Math.min(this.#burst, this.#left + refilled)
    this.#atMs = nowMs
  }
}

/** Counts a small part of a stream's data; returns whether it is within the limit. */
type TakePart = () => boolean

/** Whose request it is. */
export interface RequestClient {
  /** Undefined if a trusted proxy, whose connection it is, names no client. */
  readonly address: string | undefined
  /** Whether clients of several addresses use the connection, which then has no limit of its own. */
  readonly isShared: boolean
}

/** The allowances of all HTTP/2 connections, and of their addresses, so that a new connection has no new allowance. */
export class RequestAllowances {
  readonly #bySession = new WeakMap<Http2Session, RequestAllowance>()
  readonly #byAddress = new Map<string, RequestAllowance>()
  /** The limits of streams with a valid token. */
  readonly #byStream = new WeakMap<ServerHttp2Stream, TakePart>()
  #sweepAtSize = 1_000
  readonly #burst: number
  readonly #now: (() => number) | undefined

  /** The burst is at least the number of concurrent streams of a connection, which can all start together. */
  constructor(streamsPerConnection = 0, now?: () => number) {
    this.#burst = Math.max(defaultBurst, streamsPerConnection)
    this.#now = now
  }

  /** Counts a request; returns false if its connection or its address has exceeded its limit. */
  take(session: Http2Session, client: RequestClient): boolean {
    return this.#of(session, client).every((allowance) => allowance.take())
  }

  /** Counts a small part of the data of a stream; returns false beyond the limit of its token, or of its connection or address. */
  takePart(stream: ServerHttp2Stream, session: Http2Session, client: RequestClient): boolean {
    const takeOfToken = this.#byStream.get(stream)
    if (takeOfToken !== undefined) return takeOfToken()
    return this.#of(session, client).every((allowance) => allowance.take(1 / partsPerRequest))
  }

  /** Returns the count of a request that became a session with a valid token, which counts the parts of its data from here on. */
  giveBack(stream: ServerHttp2Stream, client: RequestClient, takeOfToken: TakePart): void {
    this.#byStream.set(stream, takeOfToken)
    const { session } = stream
    if (session !== undefined) for (const allowance of this.#of(session, client)) allowance.giveBack()
  }

  #of(session: Http2Session, { address, isShared }: RequestClient): readonly RequestAllowance[] {
    return [
      ...(isShared ? [] : [this.#ofSession(session)]),
      ...(address === undefined ? [] : [this.#ofAddress(peerAddress(address))]),
    ]
  }

  #ofSession(session: Http2Session): RequestAllowance {
    const known = this.#bySession.get(session) ?? new RequestAllowance(this.#burst, this.#now)
    this.#bySession.set(session, known)
    return known
  }

  #ofAddress(key: string): RequestAllowance {
    const known = this.#byAddress.get(key)
    if (known !== undefined) return known
    if (this.#byAddress.size >= this.#sweepAtSize) this.#sweep()
    const allowance = new RequestAllowance(this.#burst, this.#now, addressFactor)
    this.#byAddress.set(key, allowance)
    return allowance
  }

  #sweep(): void {
    for (const [key, allowance] of this.#byAddress) if (allowance.isFull) this.#byAddress.delete(key)
    this.#sweepAtSize = Math.max(1_000, 2 * this.#byAddress.size)
  }
}
