/** Audio of the source that was not kept, `skipped` bytes of it, right before a position of what was kept. */
interface Jump {
  readonly at: number
  skipped: number
}

/** A stretch, in bytes. */
export interface Stretch {
  readonly from: number
  readonly to: number
}

/** So many jumps are told apart; of a source that overruns again and again the oldest become one. */
const maxJumps = 256

/**
 * Where in the source's timeline the audio stood that was kept: what did not fit is missing in what was kept, but time
 * went on over it. All positions in bytes, from the first byte.
 */
export class SourceTimeline {
  #jumps: Jump[] = []

  get isStraight(): boolean {
    return this.#jumps.length === 0
  }

  /** Bytes of the source are left out between what was kept so far, up to `at`, and what will follow. */
  skip(at: number, byteCount: number): void {
    const last = this.#jumps.at(-1)
    if (last?.at === at) last.skipped += byteCount
    else this.#jumps.push({ at, skipped: byteCount })
    if (this.#jumps.length <= maxJumps) return
    const [first, second] = this.#jumps.splice(0, 2)
    this.#jumps.unshift({ at: second?.at ?? at, skipped: (first?.skipped ?? 0) + (second?.skipped ?? 0) })
  }

  /** Where the byte at a position stood in the source. */
  startOf(position: number): number {
    return this.#jumps.reduce((source, jump) => (jump.at <= position ? source + jump.skipped : source), position)
  }

  /** Where the audio that ends at a position ended in the source. */
  endOf(position: number): number {
    return this.#jumps.reduce((source, jump) => (jump.at < position ? source + jump.skipped : source), position)
  }

  /** The position of what was kept that ended at a place in the source, or the last one before it. */
  positionOf(source: number): number {
    let skipped = 0
    for (const jump of this.#jumps) {
      if (source <= jump.at + skipped) break
      if (source <= jump.at + skipped + jump.skipped) return jump.at
      skipped += jump.skipped
    }
    return source - skipped
  }

  /** The stretches of the source that were kept from one position to another. */
  stretches(from: number, to: number): readonly Stretch[] {
    if (from >= to) return []
    const cuts = this.#jumps.map(({ at }) => at).filter((at) => at > from && at < to)
    const edges = [from, ...cuts, to]
    return edges.slice(1).map((end, index) => ({ from: this.startOf(edges[index] ?? from), to: this.endOf(end) }))
  }
}
