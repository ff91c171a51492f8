import type { GapCause, GapEvent } from '../../protocol/session-event.js'

/** A stretch of audio that was dropped, in milliseconds of the source's audio. */
export interface LedgerDrop {
  readonly fromMs: number
  readonly toMs: number
  readonly cause: GapCause
  readonly channel?: number
}

/** All that was dropped for one reason. */
export interface DropSum {
  readonly cause: GapCause
  readonly ms: number
  /** How many gaps were told; stretches that touch count each. */
  readonly gaps: number
}

/** So many stretches are kept apart; of what comes then only the sums are. */
const mostStretches = 1000

/** What was dropped: exact stretches, up to a bound, and exact sums. */
export class DropAccount {
  #stretches: readonly LedgerDrop[] = []
  #sums: readonly DropSum[] = []
  #unlisted = 0

  add({ fromMs, toMs, cause, channel }: GapEvent): void {
    const before = this.#sums.find((sum) => sum.cause === cause)
    const sum = { cause, ms: (before?.ms ?? 0) + toMs - fromMs, gaps: (before?.gaps ?? 0) + 1 }
    this.#sums = [...this.#sums.filter((one) => one !== before), sum]
    const touching = this.#stretches.find(
      (one) => one.cause === cause && one.channel === channel && touch(one.toMs, fromMs),
    )
    if (touching !== undefined) {
      this.#stretches = this.#stretches.map((one) => (one === touching ? { ...one, toMs } : one))
    } else if (this.#stretches.length < mostStretches) {
      this.#stretches = [...this.#stretches, { fromMs, toMs, cause, ...(channel !== undefined && { channel }) }]
    } else this.#unlisted += 1
  }

  get stretches(): readonly LedgerDrop[] {
    return this.#stretches
  }

  get sums(): readonly DropSum[] {
    return this.#sums
  }

  get unlisted(): number {
    return this.#unlisted
  }

  /** How much of the audio up to a place was dropped, on one channel or, where gaps name none, on all. */
  before(untilMs: number, channel: number | undefined): number {
    return this.#stretches
      .filter((one) => one.channel === undefined || one.channel === channel)
      .reduce((sum, { fromMs, toMs }) => sum + Math.max(0, Math.min(toMs, untilMs) - fromMs), 0)
  }
}

/** Places are fractions of milliseconds; a sample of 48 kHz lasts 0.02. */
const touch = (one: number, other: number): boolean => Math.abs(one - other) < 0.01
