import type { SchedulerLike } from 'rxjs'
import { bytesPerSecond, type AudioFormat } from '../../audio/format.js'

/** What services commonly let through (docs/PROTOCOL.md 8): so much at once, then a little faster than it was spoken. */
export const commonPace = { burstMs: 4_000, speed: 1.2 } as const
const { burstMs, speed } = commonPace

/** Who has to wait waits this long at least: then several messages go at once, and not each by a timer of its own. */
const minWaitMs = 200

/** Holds audio back that a service would refuse as `too-fast`: used once one has refused, for what was held meanwhile. */
export class RateLimiter {
  readonly #bytesPerMs: number
  readonly #scheduler: SchedulerLike
  readonly #startMs: number
  readonly #burstMs: number
  #sentBytes = 0

  /** Without a `burst` nothing is sent sooner than it was spoken. */
  constructor(format: AudioFormat, scheduler: SchedulerLike, burst: boolean) {
    this.#burstMs = burst ? burstMs : 0
    this.#bytesPerMs = bytesPerSecond(format) / 1000
    this.#scheduler = scheduler
    this.#startMs = scheduler.now()
  }

  sent(byteCount: number): void {
    this.#sentBytes += byteCount
  }

  /** How long the next message has to wait, in milliseconds. */
  get waitMs(): number {
    const dueMs = (this.#sentBytes / this.#bytesPerMs - this.#burstMs) / speed
    const leftMs = Math.ceil(dueMs - (this.#scheduler.now() - this.#startMs))
    return leftMs > 0 ? Math.max(leftMs, minWaitMs) : 0
  }
}
