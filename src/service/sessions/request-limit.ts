import type { SchedulerLike } from 'rxjs'
import { SpeechError } from '../../errors/speech-error.js'

export interface RequestLimits {
  /** How many requests a session or socket may make per second in the long run. @default 20 */
  readonly maxRequestsPerSecond: number
  /** How many requests may arrive at once. @default 100 */
  readonly requestBurst: number
}

/** A request counts once, and again for each such number of characters. */
const charactersPerRequest = 16_384

/** What to do with a request: handle it, refuse it with `too-many-requests`, or end the session. */
export type RequestVerdict = 'handle' | 'refuse' | 'end'

/**
 * A leaky bucket for the requests of one session (PROTOCOL 8). Requests beyond the burst are refused; at twice the burst
 * the session ends. Refused requests count too, so a client that keeps sending gains nothing.
 */
export class RequestLimit {
  readonly #limits: RequestLimits
  readonly #scheduler: SchedulerLike
  #level = 0
  #atMs: number

  constructor(limits: RequestLimits, scheduler: SchedulerLike) {
    this.#limits = limits
    this.#scheduler = scheduler
    this.#atMs = scheduler.now()
  }

  /** Counts a request with this number of characters. */
  take(length: number): RequestVerdict {
    const { maxRequestsPerSecond, requestBurst } = this.#limits
    const nowMs = this.#scheduler.now()
    const drained = (Math.max(0, nowMs - this.#atMs) * maxRequestsPerSecond) / 1000
    this.#atMs = nowMs
    this.#level = Math.max(0, this.#level - drained) + 1 + Math.floor(length / charactersPerRequest)
    if (this.#level <= requestBurst) return 'handle'
    return this.#level <= 2 * requestBurst ? 'refuse' : 'end'
  }

  /** Why a request is refused, and how long to wait. */
  refusal(): SpeechError {
    const { maxRequestsPerSecond, requestBurst } = this.#limits
    const retryAfterMs = Math.ceil(((this.#level - requestBurst + 1) * 1000) / maxRequestsPerSecond)
    return new SpeechError(
      'too-many-requests',
      `More than ${requestBurst} requests at once, or ${maxRequestsPerSecond} per second; wait ${retryAfterMs} ms.`,
      { retryAfterMs },
    )
  }
}
