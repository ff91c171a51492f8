import type { Http2Session } from 'node:http2'

/** More than any client asks at once for the state of the service, for its description or without a token. */
const defaultAtOnce = 500
/** As often as a gateway may ask on behalf of many. */
const perSecond = 50

/** How many requests of one connection are looked at before one of them has shown a good token. */
export class RequestAllowance {
  readonly #now: () => number
  readonly #atOnce: number
  #left: number
  #atMs: number

  constructor(atOnce = defaultAtOnce, now: () => number = () => performance.now()) {
    this.#now = now
    this.#atOnce = atOnce
    this.#left = atOnce
    this.#atMs = now()
  }

  /** False where the connection asks for more than it may. */
  take(): boolean {
    const nowMs = this.#now()
    this.#left = Math.min(this.#atOnce, this.#left + ((nowMs - this.#atMs) * perSecond) / 1000)
    this.#atMs = nowMs
    if (this.#left < 1) return false
    this.#left -= 1
    return true
  }

  /** A request turned out to be a session with a good token, which has limits of its own. */
  giveBack(): void {
    this.#left = Math.min(this.#atOnce, this.#left + 1)
  }
}

/** The allowance of each HTTP/2 connection, which lasts as long as the connection. */
export class RequestAllowances {
  readonly #bySession = new WeakMap<Http2Session, RequestAllowance>()
  readonly #atOnce: number

  /** No less than the streams that a connection may have at once, all of which may begin together. */
  constructor(streamsPerConnection = 0) {
    this.#atOnce = Math.max(defaultAtOnce, streamsPerConnection)
  }

  of(session: Http2Session): RequestAllowance {
    const known = this.#bySession.get(session) ?? new RequestAllowance(this.#atOnce)
    this.#bySession.set(session, known)
    return known
  }
}
