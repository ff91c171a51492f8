import type { Http2Session } from 'node:http2'

/** More than any client sends at once for health, reflection or without a token. */
const defaultBurst = 500
/** Enough for a gateway with many clients. */
const perSecond = 50

/** Limits the requests of one connection without a valid token: a token bucket (PROTOCOL 8). */
export class RequestAllowance {
  readonly #now: () => number
  readonly #burst: number
  #left: number
  #atMs: number

  constructor(burst = defaultBurst, now: () => number = () => performance.now()) {
    this.#now = now
    this.#burst = burst
    this.#left = burst
    this.#atMs = now()
  }

  /** Counts a request; returns false if the connection has exceeded its limit. */
  take(): boolean {
    const nowMs = this.#now()
    this.#left = Math.min(this.#burst, this.#left + ((nowMs - this.#atMs) * perSecond) / 1000)
    this.#atMs = nowMs
    if (this.#left < 1) return false
    this.#left -= 1
    return true
  }

  /** Returns the count of a request that became a session with a valid token, which has its own limits. */
  giveBack(): void {
    this.#left = Math.min(this.#burst, this.#left + 1)
  }
}

/** The allowances of all HTTP/2 connections. */
export class RequestAllowances {
  readonly #bySession = new WeakMap<Http2Session, RequestAllowance>()
  readonly #burst: number
  readonly #now: (() => number) | undefined

  /** The burst is at least the number of concurrent streams of a connection, which can all start together. */
  constructor(streamsPerConnection = 0, now?: () => number) {
    this.#burst = Math.max(defaultBurst, streamsPerConnection)
    this.#now = now
  }

  of(session: Http2Session): RequestAllowance {
    const known = this.#bySession.get(session) ?? new RequestAllowance(this.#burst, this.#now)
    this.#bySession.set(session, known)
    return known
  }
}
