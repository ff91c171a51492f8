/** Messages of one length, one after another: from `at`, up to `end`. */
interface Run {
  readonly at: number
  readonly length: number
  end: number
}

/** More runs than this are not kept apart: a source whose chunks all differ must not cost more than its audio. */
const maxRuns = 1_024

/**
 * Where the messages of audio end, so that what is sent again is cut as it was the first time. Chunks mostly have one
 * length, so this is a list of runs and not of messages.
 */
export class ChunkBoundaries {
  #runs: Run[] = []
  #last: Run | undefined

  /** A message of `length` bytes stands at a position, after all before it. */
  append(at: number, length: number): void {
    const last = this.#last
    if (last?.end === at && last.length === length && (at - last.at) % length === 0) last.end += length
    else if (last?.end === at && this.#runs.length >= maxRuns) last.end += length
    else this.#runs.push((this.#last = { at, length, end: at + length }))
  }

  /** Where the message ends in which a position stands. */
  endOf(position: number): number {
    const run = this.#runs.find(({ end }) => position < end)
    if (run === undefined) return position
    const { at, length, end } = run
    return Math.min(end, position + length - ((position - at) % length))
  }

  /** Forgets what ends at or before a position. */
  dropBefore(position: number): void {
    if (this.#last === undefined) return
    const first = this.#runs.findIndex(({ end }) => end > position)
    if (first > 0) this.#runs.splice(0, first)
    if (first !== -1) return
    this.#runs = []
    this.#last = undefined
  }

  /** Takes back what stands from a position on; the message in which it stands ends there. */
  dropAfter(position: number): void {
    for (let last = this.#runs.at(-1); last !== undefined && last.end > position; last = this.#runs.at(-1)) {
      if (last.at >= position) this.#runs.pop()
      else last.end = position
    }
    this.#last = this.#runs.at(-1)
  }
}
