import type { SpeechError } from '../errors/speech-error.js'
import { backoffMs } from '../kernel/backoff.js'
import type { Resumption } from './resumption.js'

/** An attempt to have another connection, and when it is due. */
export interface Attempt {
  /** From 1. */
  readonly attempt: number
  readonly delayMs: number
}

/**
 * When the next attempt is due: waits that double, each cut to a random share of itself, so that many sessions that lost
 * one service do not come back at once; and how long it is tried at all.
 */
export class RetryBudget {
  readonly #resumption: Resumption
  #attempts = 0
  #sinceMs: number | undefined
  #streamsSinceMs = Infinity

  constructor(resumption: Resumption) {
    this.#resumption = resumption
  }

  /** The attempt that follows a failure, or undefined when there is no time left for one. */
  next(nowMs: number, error: SpeechError): Attempt | undefined {
    const { budgetMs, maxDelayMs, random } = this.#resumption
    // A connection that lasted longer than any wait has done its work: its loss is another one.
    if (this.#streamsSinceMs + maxDelayMs <= nowMs) this.renew()
    this.#streamsSinceMs = Infinity
    this.#sinceMs ??= nowMs
    const delayMs = Math.max(backoffMs(this.#resumption, this.#attempts + 1, random), error.retryAfterMs ?? 0)
    if (nowMs + delayMs > this.#sinceMs + budgetMs) return undefined
    this.#attempts += 1
    return { attempt: this.#attempts, delayMs }
  }

  /** A connection has begun to serve. */
  streams(nowMs: number): void {
    this.#streamsSinceMs = nowMs
  }

  /** The service has made progress: the next loss is another one. */
  renew(): void {
    this.#attempts = 0
    this.#sinceMs = undefined
  }
}
