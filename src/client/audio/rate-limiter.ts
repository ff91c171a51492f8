import type { SchedulerLike } from 'rxjs'
import { bytesPerSecond, type AudioFormat } from '../../audio/format.js'

/** The rate that services commonly allow (PROTOCOL 8): a burst, then slightly faster than real time. */
export const commonPace = { burstMs: 4_000, speed: 1.2 } as const
const { burstMs, speed } = commonPace

/** The minimum wait, so that one timer serves several messages. */
const minWaitMs = 200

/** Limits the rate of sending after a service has refused audio as `too-fast`. */
export class RateLimiter {
  readonly #bytesPerMs: number
  readonly #scheduler: SchedulerLike
  readonly #startMs: number
  readonly #burstMs: number
  #sentBytes = 0

  /** Without a `burst` audio is never sent faster than real time. */
  constructor(format: AudioFormat, scheduler: SchedulerLike, burst: boolean) {
    this.#burstMs = burst ? burstMs : 0
    this.#bytesPerMs = bytesPerSecond(format) / 1000
    this.#scheduler = scheduler
    this.#startMs = scheduler.now()
  }

  sent(byteCount: number): void {
    this.#sentBytes += byteCount
  }

  /** The wait before the next message, in milliseconds. */
  get waitMs(): number {
    const dueMs = (this.#sentBytes / this.#bytesPerMs - this.#burstMs) / speed
    const leftMs = Math.ceil(dueMs - (this.#scheduler.now() - this.#startMs))
    return leftMs > 0 ? Math.max(leftMs, minWaitMs) : 0
  }
}
