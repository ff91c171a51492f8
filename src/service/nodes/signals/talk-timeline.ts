/** When one side talked, in milliseconds since the session's first sample; the end is not part of it. */
export interface TalkSpan {
  readonly startMs: number
  readonly endMs: number
}

/** What is known of who talks when: closed spans and those under way, by channel. */
export class TalkTimeline {
  readonly #maxSpans: number
  readonly #closed: readonly [TalkSpan[], TalkSpan[]] = [[], []]
  readonly #open: [number | undefined, number | undefined] = [undefined, undefined]
  #lengthMs = 0
  #forgotten = false

  /** No more than so many spans a channel; the oldest two become one beyond it. */
  constructor(maxSpans = 50_000) {
    this.#maxSpans = maxSpans
  }

  /** The latest time that anything told. */
  get lengthMs(): number {
    return this.#lengthMs
  }

  /** Whether spans were joined for want of room. */
  get isCoarse(): boolean {
    return this.#forgotten
  }

  reach(timeMs: number): void {
    if (Number.isFinite(timeMs)) this.#lengthMs = Math.max(this.#lengthMs, timeMs)
  }

  started(channel: 0 | 1, startMs: number): void {
    this.reach(startMs)
    this.#open[channel] ??= startMs
  }

  /** `startMs` of the end decides where it is known, for it is told later and knows better. */
  ended(channel: 0 | 1, startMs: number, endMs: number): void {
    this.reach(endMs)
    const from = startMs >= 0 ? startMs : this.#open[channel]
    this.#open[channel] = undefined
    if (from === undefined || endMs <= from) return
    const spans = this.#closed[channel]
    const last = spans.at(-1)
    // A span that begins before the last one ended is the same talk told anew.
    if (last !== undefined && from <= last.endMs) {
      spans[spans.length - 1] = { startMs: Math.min(last.startMs, from), endMs: Math.max(last.endMs, endMs) }
    } else {
      spans.push({ startMs: from, endMs })
    }
    this.#bound(spans)
  }

  /** The spans of a channel up to a time, in order and apart from each other; one under way lasts until then. */
  spans(channel: 0 | 1, untilMs: number): readonly TalkSpan[] {
    const open = this.#open[channel]
    const last = this.#closed[channel].at(-1)
    const running = open === undefined ? [] : [{ startMs: Math.max(open, last?.endMs ?? 0), endMs: untilMs }]
    return [...this.#closed[channel], ...running]
      .map(({ startMs, endMs }) => ({ startMs: Math.max(0, startMs), endMs: Math.min(endMs, untilMs) }))
      .filter(({ startMs, endMs }) => endMs > startMs)
  }

  #bound(spans: TalkSpan[]): void {
    const [first, second] = spans
    if (spans.length <= this.#maxSpans || first === undefined || second === undefined) return
    this.#forgotten = true
    spans.splice(0, 2, { startMs: first.startMs, endMs: second.endMs })
  }
}
