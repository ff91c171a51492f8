import { asyncScheduler, defer, tap, type MonoTypeOperatorFunction, type SchedulerLike } from 'rxjs'
import { msForBytes, validateFormat, type AudioFormat } from '../../audio/format.js'
import { anything, checkOptions, number, optionsOf, schedulerValue } from '../../protocol/validation.js'

/** The audio that the clock counts. */
export interface SampleClockOptions {
  /** The format of the counted audio. */
  readonly format: AudioFormat
  /** How many marks are kept, 16 to 65 536: half of them the latest, half spread over the session. @default 1024 */
  readonly maxMarks?: number | undefined
  /** The clock of `wallMs`. @default asyncScheduler */
  readonly scheduler?: SchedulerLike | undefined
}

/** Relates positions in the audio to times of the clock. */
export interface SampleClock {
  /**
   * An operator that counts the samples that pass, unchanged. Each subscription starts from zero: a clock serves one
   * session at a time. It needs no timer.
   */
  readonly count: () => MonoTypeOperatorFunction<Uint8Array>
  /** The audio that has passed, in milliseconds. */
  readonly audioMs: () => number
  /** When the audio at a position passed, in milliseconds of the scheduler's clock; undefined if it has not yet. */
  readonly wallMsAt: (audioMs: number) => number | undefined
  /** The audio that had passed at a time, in milliseconds; undefined before the first sample. */
  readonly audioMsAt: (wallMs: number) => number | undefined
  /**
   * How much faster the samples arrive than their nominal rate, in parts per million of the scheduler's clock, by least
   * squares over all chunks; negative if slower. Undefined in the first second, and meaningless for a source that is
   * not in real time.
   */
  readonly driftPpm: () => number | undefined
}

/** In a shorter time the jitter of single chunks dominates. */
const minDriftSpanMs = 1000

const sampleClockOptions = optionsOf<SampleClockOptions>()(
  { format: anything },
  { maxMarks: number({ min: 16, max: 65_536 }), scheduler: schedulerValue },
)

/**
 * Creates a clock that runs by samples: with `count()` in the audio's pipe, positions in the audio can be converted to
 * times and back, also for a source that is faster or slower than real time. Throws `invalid-format` or
 * `invalid-options`.
 *
 * @example
 * ```ts
 * const clock = sampleClock({ format })
 * audio$.pipe(clock.count(), recognize(options), metrics({ clock }))
 * ```
 */
export const sampleClock = (options: SampleClockOptions): SampleClock => {
  checkOptions(sampleClockOptions, options)
  const { format, maxMarks = 1024, scheduler = asyncScheduler } = options
  validateFormat(format)
  let marks = new ClockMarks(maxMarks)
  let fit = new LineFit()
  let byteCount = 0
  const pass = (chunk: Uint8Array): void => {
    const wallMs = scheduler.now()
    // The time at which the first sample was recorded is unknown: it counts as passed with its chunk.
    if (byteCount === 0) marks.add({ audioMs: 0, wallMs })
    byteCount += chunk.byteLength
    const audioMs = msForBytes(format, byteCount)
    marks.add({ audioMs, wallMs })
    fit.add(wallMs, audioMs)
  }
  return {
    count: () => (source$) =>
      defer(() => {
        marks = new ClockMarks(maxMarks)
        fit = new LineFit()
        byteCount = 0
        return source$.pipe(tap(pass))
      }),
    audioMs: () => msForBytes(format, byteCount),
    wallMsAt: (audioMs) => marks.wallMsAt(audioMs),
    audioMsAt: (wallMs) => marks.audioMsAt(wallMs),
    driftPpm: () => {
      const slope = fit.spanX < minDriftSpanMs ? undefined : fit.slope()
      return slope === undefined ? undefined : (slope - 1) * 1e6
    },
  }
}

/** The audio that had passed at a time. */
interface ClockMark {
  readonly audioMs: number
  readonly wallMs: number
}

/**
 * A bounded list of marks: all of the latest ones, and every second, fourth, eighth … of the whole session as it grows.
 * Times never run backwards: a clock that is set back counts as stopped. Adding a mark takes constant time.
 */
export class ClockMarks {
  readonly #half: number
  /** A ring buffer: the newest mark is before `#next`. */
  readonly #recent: ClockMark[] = []
  #next = 0
  #coarse: ClockMark[] = []
  #every = 1
  #count = 0
  #last: ClockMark | undefined

  constructor(maxMarks: number) {
    this.#half = Math.floor(maxMarks / 2)
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
      (positionMs) => positionMs >= audioMs,
    )
    return found && between(found[0].audioMs, found[1].audioMs, audioMs, found[0].wallMs, found[1].wallMs)
  }

  /** After the last mark: the audio that had passed by then. */
  audioMsAt(wallMs: number): number | undefined {
    if (this.#last !== undefined && wallMs >= this.#last.wallMs) return this.#last.audioMs
    const found = this.#around(
      (mark) => mark.wallMs,
      wallMs,
      (timeMs) => timeMs > wallMs,
    )
    return found && between(found[0].wallMs, found[1].wallMs, wallMs, found[0].audioMs, found[1].audioMs)
  }

  /** The marks before and after a value of `of`; the one after is the first with `isAfter`. */
  #around(
    of: (mark: ClockMark) => number,
    value: number,
    isAfter: (value: number) => boolean,
  ): readonly [ClockMark, ClockMark] | undefined {
    const last = this.#last
    if (last === undefined || !(value >= 0) || value > of(last)) return undefined
    const recent = this.#inOrder()
    const oldest = recent[0]
    const marks =
      oldest !== undefined && value >= of(oldest)
        ? recent
        : [...this.#coarse.filter((mark) => of(mark) <= of(oldest ?? last)), oldest ?? last]
    const at = firstWhere(marks, (mark) => isAfter(of(mark)))
    const [before, after] = [marks[at - 1] ?? marks[at], marks[at]]
    return before === undefined || after === undefined || value < of(before) ? undefined : [before, after]
  }

  #inOrder(): readonly ClockMark[] {
    return this.#recent.length < this.#half
      ? this.#recent
      : [...this.#recent.slice(this.#next), ...this.#recent.slice(0, this.#next)]
  }
}

/** Binary search: the first mark for which `holds` is true, as it must be for all later ones; or the last mark. */
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

/** The slope of the least-squares line through points, updated incrementally (Welford). */
class LineFit {
  #count = 0
  #meanX = 0
  #meanY = 0
  #varianceX = 0
  #covariance = 0
  #firstX = 0
  #lastX = 0

  add(x: number, y: number): void {
    if (this.#count === 0) this.#firstX = x
    this.#lastX = x
    this.#count += 1
    const fromX = x - this.#meanX
    this.#meanX += fromX / this.#count
    this.#meanY += (y - this.#meanY) / this.#count
    this.#varianceX += fromX * (x - this.#meanX)
    this.#covariance += fromX * (y - this.#meanY)
  }

  /** The distance from the first to the last point. */
  get spanX(): number {
    return this.#lastX - this.#firstX
  }

  /** Undefined if all points have the same x. */
  slope(): number | undefined {
    return this.#varianceX > 0 ? this.#covariance / this.#varianceX : undefined
  }
}
