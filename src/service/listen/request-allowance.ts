/** More than any client asks at once for the state of the service or for its description. */
const atOnce = 250
/** As often as a gateway may ask on behalf of many. */
const perSecond = 25

/** How many requests of a connection are answered that are no sessions. */
export class RequestAllowance {
  readonly #now: () => number
  #left = atOnce
  #atMs: number

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
    this.#atMs = now()
  }

  /** False where the connection asks for more than it may. */
  take(): boolean {
    const nowMs = this.#now()
    this.#left = Math.min(atOnce, this.#left + ((nowMs - this.#atMs) * perSecond) / 1000)
    this.#atMs = nowMs
    if (this.#left < 1) return false
    this.#left -= 1
    return true
  }
}
