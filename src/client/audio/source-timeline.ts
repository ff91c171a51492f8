/** `skipped` bytes of the source are missing immediately before a position of the kept audio. */
interface Jump {
  readonly at: number
  skipped: number
}

/** A range, in bytes. */
export interface Stretch {
  readonly from: number
  readonly to: number
}

/** The maximum number of jumps; beyond it the oldest ones are merged. */
const maxJumps = 256

/**
 * Maps positions of the kept audio to positions of the source. Audio that was not kept still counts in the time of the
 * source. All positions are in bytes from the first byte.
 */
export class SourceTimeline {
  #jumps: Jump[] = []

  get isStraight(): boolean {
    return this.#jumps.length === 0
  }

  /** Records that bytes of the source are missing at `at`, the end of the audio kept so far. */
  skip(at: number, byteCount: number): void {
    const last = this.#jumps.at(-1)
    if (last?.at === at) last.skipped += byteCount
    else this.#jumps.push({ at, skipped: byteCount })
    if (this.#jumps.length <= maxJumps) return
    const [first, second] = this.#jumps.splice(0, 2)
    this.#jumps.unshift({ at: second?.at ?? at, skipped: (first?.skipped ?? 0) + (second?.skipped ?? 0) })
  }

  /** The position in the source of the byte at a position. */
  startOf(position: number): number {
    return this.#jumps.reduce((source, jump) => (jump.at <= position ? source + jump.skipped : source), position)
  }

  /** The position in the source at which the audio before a position ends. */
  endOf(position: number): number {
    return this.#jumps.reduce((source, jump) => (jump.at < position ? source + jump.skipped : source), position)
  }

  /** The position of the kept audio that ends at a position of the source, or the last one before it. */
  positionOf(source: number): number {
    let skipped = 0
    for (const jump of this.#jumps) {
      if (source <= jump.at + skipped) break
      if (source <= jump.at + skipped + jump.skipped) return jump.at
      skipped += jump.skipped
    }
    return source - skipped
  }

  /** The ranges of the source between two positions. */
  stretches(from: number, to: number): readonly Stretch[] {
    if (from >= to) return []
    const cuts = this.#jumps.map(({ at }) => at).filter((at) => at > from && at < to)
    const edges = [from, ...cuts, to]
    return edges.slice(1).map((end, index) => ({ from: this.startOf(edges[index] ?? from), to: this.endOf(end) }))
  }
}
