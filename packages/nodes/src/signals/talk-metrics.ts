/** A stretch in which one side talks, `[startMs, endMs)` since the session's first sample. */
export interface TalkSpan {
  readonly startMs: number
  readonly endMs: number
}

/** Who talks when: the closed spans of each channel and the open one. */
export class TalkTimeline {
  readonly #maxSpans: number
  readonly #closed: readonly [TalkSpan[], TalkSpan[]] = [[], []]
  readonly #open: [number | undefined, number | undefined] = [undefined, undefined]
  #lengthMs = 0
  #isCoarse = false

  /** Beyond `maxSpans` a channel, its two oldest spans are joined. */
  constructor(maxSpans = 50_000) {
    this.#maxSpans = maxSpans
  }

  /** The latest known time. */
  get lengthMs(): number {
    return this.#lengthMs
  }

  /** Whether spans were joined because there were too many. */
  get isCoarse(): boolean {
    return this.#isCoarse
  }

  /** Extends the timeline to a time. */
  extendTo(timeMs: number): void {
    if (Number.isFinite(timeMs)) this.#lengthMs = Math.max(this.#lengthMs, timeMs)
  }

  start(channel: 0 | 1, startMs: number): void {
    this.extendTo(startMs)
    this.#open[channel] ??= startMs
  }

  /** A known `startMs` replaces that of `start`, because it was decided later. */
  end(channel: 0 | 1, startMs: number, endMs: number): void {
    this.extendTo(endMs)
    const from = startMs >= 0 ? startMs : this.#open[channel]
    this.#open[channel] = undefined
    if (from === undefined || endMs <= from) return
    const spans = this.#closed[channel]
    const last = spans.at(-1)
    // A span that begins before the end of the last one is the same talk, reported again.
    if (last !== undefined && from <= last.endMs) {
      spans[spans.length - 1] = { startMs: Math.min(last.startMs, from), endMs: Math.max(last.endMs, endMs) }
    } else {
      spans.push({ startMs: from, endMs })
    }
    this.#bound(spans)
  }

  /** The spans of a channel up to a time, in order and disjoint. An open span lasts until then. */
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
    this.#isCoarse = true
    spans.splice(0, 2, { startMs: first.startMs, endMs: second.endMs })
  }
}

export interface TalkThresholds {
  /** A pause of both sides counts as dead air from this length on. */
  readonly deadAirMs: number
  /** How long both must talk until the second one counts as an interruption. */
  readonly interruptionMs: number
}

export interface ChannelMetrics {
  readonly talkMs: number
  /** The share of the talk of both sides; 0 if nobody talked. */
  readonly talkShare: number
  readonly turns: number
  readonly interruptions: number
  /** Undefined if this side never answered. */
  readonly meanResponseMs: number | undefined
}

export interface TalkMetrics {
  readonly channels: readonly [ChannelMetrics, ChannelMetrics]
  readonly overlapMs: number
  readonly silenceMs: number
  readonly deadAirMs: number
  readonly longestDeadAirMs: number
}

type ChannelSpan = TalkSpan & { readonly channel: 0 | 1 }

const lengthOf = (spans: readonly TalkSpan[]): number =>
  spans.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0)

/** Sorted by start; of two that start together, the longer one first, so that the shorter one lies within it. */
const inOrder = (left: readonly TalkSpan[], right: readonly TalkSpan[]): readonly ChannelSpan[] =>
  [
    ...left.map((span) => ({ ...span, channel: 0 as const })),
    ...right.map((span) => ({ ...span, channel: 1 as const })),
  ].sort((a, b) => a.startMs - b.startMs || b.endMs - a.endMs)

/** The lengths of the pauses of both sides, including those at the beginning and at the end. */
const pausesOf = (spans: readonly ChannelSpan[], lengthMs: number): readonly number[] => {
  const pauses: number[] = []
  let talkedUntilMs = 0
  for (const { startMs, endMs } of spans) {
    if (startMs > talkedUntilMs) pauses.push(startMs - talkedUntilMs)
    talkedUntilMs = Math.max(talkedUntilMs, endMs)
  }
  if (lengthMs > talkedUntilMs) pauses.push(lengthMs - talkedUntilMs)
  return pauses
}

/** Turns, interruptions and responses, in one pass. */
const exchangesOf = (spans: readonly ChannelSpan[], { interruptionMs }: TalkThresholds) => {
  const turns: [number, number] = [0, 0]
  const interruptions: [number, number] = [0, 0]
  const responses: [number[], number[]] = [[], []]
  const latestEndMs: [number, number] = [-1, -1]
  let lastTurn: ChannelSpan | undefined
  for (const span of spans) {
    const { channel, startMs, endMs } = span
    const otherEndMs = latestEndMs[channel === 0 ? 1 : 0]
    if (startMs < otherEndMs && endMs > otherEndMs && otherEndMs - startMs >= interruptionMs)
      interruptions[channel] += 1
    latestEndMs[channel] = Math.max(latestEndMs[channel], endMs)
    // Talk within the other side's talk ("mhm") is not a turn.
    if (endMs <= otherEndMs) continue
    if (lastTurn?.channel !== channel) {
      turns[channel] += 1
      if (lastTurn !== undefined && startMs >= otherEndMs) responses[channel].push(startMs - otherEndMs)
    }
    lastTurn = span
  }
  return { turns, interruptions, responses }
}

const meanOf = (values: readonly number[]): number | undefined =>
  values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length

/**
 * The metrics of a conversation of two channels from 0 to `lengthMs`, given sorted and disjoint spans. The node
 * `talk-statistics` defines them.
 */
export const talkMetrics = (
  left: readonly TalkSpan[],
  right: readonly TalkSpan[],
  lengthMs: number,
  thresholds: TalkThresholds,
): TalkMetrics => {
  const spans = inOrder(left, right)
  const pauses = pausesOf(spans, lengthMs)
  const talkMs = [lengthOf(left), lengthOf(right)] as const
  const allMs = talkMs[0] + talkMs[1]
  const silenceMs = pauses.reduce((sum, pause) => sum + pause, 0)
  const deadAir = pauses.filter((pause) => pause >= thresholds.deadAirMs)
  const { turns, interruptions, responses } = exchangesOf(spans, thresholds)
  const metricsOf = (channel: 0 | 1): ChannelMetrics => ({
    talkMs: talkMs[channel],
    talkShare: allMs === 0 ? 0 : talkMs[channel] / allMs,
    turns: turns[channel],
    interruptions: interruptions[channel],
    meanResponseMs: meanOf(responses[channel]),
  })
  return {
    channels: [metricsOf(0), metricsOf(1)],
    // The sum of both sides counts an overlap twice, the time without silence counts it once.
    overlapMs: allMs - (lengthMs - silenceMs),
    silenceMs,
    deadAirMs: deadAir.reduce((sum, pause) => sum + pause, 0),
    longestDeadAirMs: deadAir.reduce((max, pause) => Math.max(max, pause), 0),
  }
}
