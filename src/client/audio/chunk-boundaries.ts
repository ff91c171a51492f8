/** Consecutive messages of one length, from `at` to `end`. */
interface Run {
  readonly at: number
  readonly length: number
  end: number
}

/** The maximum number of runs, so that chunks of many different lengths need little memory. */
const maxRuns = 1_024

/**
 * Stores where messages of audio end, so that audio that is sent again is cut in the same places. Most chunks have the
 * same length, so it stores runs instead of messages.
 */
export class ChunkBoundaries {
  #runs: Run[] = []
  #last: Run | undefined

  /** Appends a message of `length` bytes at a position after all others. */
  append(at: number, length: number): void {
    const last = this.#last
    if (last?.end === at && last.length === length && (at - last.at) % length === 0) last.end += length
    else if (last?.end === at && this.#runs.length >= maxRuns) last.end += length
    else this.#runs.push((this.#last = { at, length, end: at + length }))
  }

  /** The end of the message that contains a position. */
  endOf(position: number): number {
    const run = this.#runs.find(({ end }) => position < end)
    if (run === undefined) return position
    const { at, length, end } = run
    return Math.min(end, position + length - ((position - at) % length))
  }

  /** Forgets the messages that end at or before a position. */
  dropBefore(position: number): void {
    if (this.#last === undefined) return
    const first = this.#runs.findIndex(({ end }) => end > position)
    if (first > 0) this.#runs.splice(0, first)
    if (first !== -1) return
    this.#runs = []
    this.#last = undefined
  }

  /** Removes all messages after a position; the one that contains it ends there. */
  dropAfter(position: number): void {
    for (let last = this.#runs.at(-1); last !== undefined && last.end > position; last = this.#runs.at(-1)) {
      if (last.at >= position) this.#runs.pop()
      else last.end = position
    }
    this.#last = this.#runs.at(-1)
  }
}
