import type { GapCause, GapEvent } from '../../protocol/session-event.js'

/** Dropped audio, in milliseconds of the source's audio. */
export interface LedgerDrop {
  /** The start of the dropped audio. */
  readonly fromMs: number
  /** The end of the dropped audio. */
  readonly toMs: number
  /** Why it was dropped. */
  readonly cause: GapCause
  /** The channel, if it is only one. */
  readonly channel?: number | undefined
}

/** The dropped audio of one cause. */
export interface DropSum {
  /** Why the audio was dropped. */
  readonly cause: GapCause
  /** The dropped audio of this cause, in milliseconds. */
  readonly ms: number
  /** The number of `gap` events; adjacent gaps count separately. */
  readonly gaps: number
}

/** The number of gaps that are listed; further gaps are only summed up. */
const maxListedDrops = 1000

/** Sums up dropped audio and lists it, up to a bound. */
export class DropCounter {
  #drops: readonly LedgerDrop[] = []
  #sums: readonly DropSum[] = []
  #unlisted = 0

  add({ fromMs, toMs, cause, channel }: GapEvent): void {
    const before = this.#sums.find((sum) => sum.cause === cause)
    const sum = { cause, ms: (before?.ms ?? 0) + toMs - fromMs, gaps: (before?.gaps ?? 0) + 1 }
    this.#sums = [...this.#sums.filter((other) => other !== before), sum]
    const adjacent = this.#drops.find(
      (drop) => drop.cause === cause && drop.channel === channel && isAdjacent(drop.toMs, fromMs),
    )
    if (adjacent !== undefined) {
      this.#drops = this.#drops.map((drop) => (drop === adjacent ? { ...drop, toMs } : drop))
    } else if (this.#drops.length < maxListedDrops) {
      this.#drops = [...this.#drops, { fromMs, toMs, cause, channel }]
    } else this.#unlisted += 1
  }

  get drops(): readonly LedgerDrop[] {
    return this.#drops
  }

  get sums(): readonly DropSum[] {
    return this.#sums
  }

  get unlisted(): number {
    return this.#unlisted
  }

  /** The dropped audio before a position, of one channel and of gaps that name no channel. */
  before(untilMs: number, channel: number | undefined): number {
    return this.#drops
      .filter((drop) => drop.channel === undefined || drop.channel === channel)
      .reduce((sum, { fromMs, toMs }) => sum + Math.max(0, Math.min(toMs, untilMs) - fromMs), 0)
  }
}

/** Positions are fractions of milliseconds: a sample at 48 kHz lasts 0.02 ms. */
export const isAdjacent = (endMs: number, startMs: number): boolean => Math.abs(endMs - startMs) < 0.01
