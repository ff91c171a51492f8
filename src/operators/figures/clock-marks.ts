/** At this moment so much audio had passed. */
export interface ClockMark {
  readonly audioMs: number
  readonly wallMs: number
}

/**
 * A bounded memory of marks: the last ones as they came, and of all since the beginning every second, fourth, eighth …
 * as they grow more. Both run forward: a clock that is set back stands still here. A step costs the same at any time.
 */
export class ClockMarks {
  readonly #half: number
  /** A ring: the newest stands before `#next`. */
  readonly #recent: ClockMark[] = []
  #next = 0
  #coarse: ClockMark[] = []
  #every = 1
  #count = 0
  #last: ClockMark | undefined

  constructor(most: number) {
    this.#half = Math.floor(most / 2)
  }

  add({ audioMs, wallMs }: ClockMark): void {
    const mark = { audioMs, wallMs: Math.max(wallMs, this.#last?.wallMs ?? wallMs) }
    this.#last = mark
    this.#recent[this.#next] = mark
    this.#next = (this.#next + 1) % this.#half
    if (this.#count % this.#every === 0) this.#coarse.push(mark)
    this.#count += 1
    if (this.#coarse.length < this.#half) return
    this.#coarse = this.#coarse.filter((_, at) => at % 2 === 0)
    this.#every *= 2
  }

  wallMsAt(audioMs: number): number | undefined {
    const found = this.#around(
      (mark) => mark.audioMs,
      audioMs,
      (place) => place >= audioMs,
    )
    return found && between(found[0].audioMs, found[1].audioMs, audioMs, found[0].wallMs, found[1].wallMs)
  }

  /** After the last mark: as much as had passed by then. */
  audioMsAt(wallMs: number): number | undefined {
    if (this.#last !== undefined && wallMs >= this.#last.wallMs) return this.#last.audioMs
    const found = this.#around(
      (mark) => mark.wallMs,
      wallMs,
      (moment) => moment > wallMs,
    )
    return found && between(found[0].wallMs, found[1].wallMs, wallMs, found[0].audioMs, found[1].audioMs)
  }

  /** The marks before and behind a place, by what both grow with; the one behind is the first that `isBehind`. */
  #around(
    of: (mark: ClockMark) => number,
    value: number,
    isBehind: (value: number) => boolean,
  ): readonly [ClockMark, ClockMark] | undefined {
    const last = this.#last
    if (last === undefined || !(value >= 0) || value > of(last)) return undefined
    const recent = this.#inOrder()
    const oldest = recent[0]
    const marks =
      oldest !== undefined && value >= of(oldest)
        ? recent
        : [...this.#coarse.filter((mark) => of(mark) <= of(oldest ?? last)), oldest ?? last]
    const at = firstWhere(marks, (mark) => isBehind(of(mark)))
    const [before, after] = [marks[at - 1] ?? marks[at], marks[at]]
    return before === undefined || after === undefined || value < of(before) ? undefined : [before, after]
  }

  #inOrder(): readonly ClockMark[] {
    return this.#recent.length < this.#half
      ? this.#recent
      : [...this.#recent.slice(this.#next), ...this.#recent.slice(0, this.#next)]
  }
}

/** The first mark for which it holds, of marks for which it holds from some one on; the last where it holds for none. */
const firstWhere = (marks: readonly ClockMark[], holds: (mark: ClockMark) => boolean): number => {
  let [low, high] = [0, marks.length - 1]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const mark = marks[middle]
    if (mark !== undefined && !holds(mark)) low = middle + 1
    else high = middle
  }
  return low
}

const between = (from: number, to: number, at: number, low: number, high: number): number =>
  to > from ? low + ((at - from) / (to - from)) * (high - low) : high
