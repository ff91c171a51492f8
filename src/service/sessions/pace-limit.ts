import type { SchedulerLike } from 'rxjs'
import { SpeechError } from '../../errors/speech-error.js'

export interface PaceLimits {
  /** How fast audio may come, in percent of real time; 0 is as fast as it is taken. */
  readonly maxPacePercent: number
  /** How much audio may be ahead of that, in milliseconds. */
  readonly paceBurstMs: number
}

export interface PaceOptions {
  readonly limits: PaceLimits
  readonly scheduler: SchedulerLike
  readonly sampleRateHz: number
  /** When the session was asked for, by the scheduler's clock: what was said until it was ready may come at once. */
  readonly askedAtMs: number
  /** Whether the session's models allow any pace; asked only of who is too fast. */
  readonly allowBatch: () => boolean
}

/**
 * Judges how fast a session's audio comes (decisions.md: limits): all of it since its first message may be at most the
 * burst and the pace times the time since then. What counts is the sum, so a client of real time is never too fast,
 * however long its network stood still before.
 */
export class PaceLimit {
  readonly #options: PaceOptions
  readonly #readyAtMs: number
  #startedAtMs: number | undefined
  #sampleCount = 0

  constructor(options: PaceOptions) {
    this.#options = options
    this.#readyAtMs = options.scheduler.now()
  }

  /** So many samples of each channel came: `too-fast` where that is too much by now. */
  take(sampleCount: number): SpeechError | undefined {
    const { limits, scheduler, sampleRateHz, askedAtMs, allowBatch } = this.#options
    const { maxPacePercent, paceBurstMs } = limits
    if (maxPacePercent === 0) return undefined
    this.#startedAtMs ??= scheduler.now()
    this.#sampleCount += sampleCount
    const elapsedMs = scheduler.now() - this.#startedAtMs + this.#readyAtMs - askedAtMs
    const aheadMs = (this.#sampleCount * 1000) / sampleRateHz - (elapsedMs * maxPacePercent) / 100
    return aheadMs <= paceBurstMs || allowBatch() ? undefined : tooFast(limits)
  }
}

const tooFast = ({ maxPacePercent, paceBurstMs }: PaceLimits): SpeechError =>
  new SpeechError(
    'too-fast',
    `Audio came faster than ${maxPacePercent / 100} times real time after a burst of ${paceBurstMs / 1000} s; send it at the pace of real time.`,
  )
