import type { TalkSpan } from './talk-timeline.js'

export interface TalkThresholds {
  /** A pause in which nobody talks is dead air from this length on. */
  readonly deadAirMs: number
  /** How long both must talk for the second one to have interrupted. */
  readonly interruptionMs: number
}

export interface ChannelMetrics {
  readonly talkMs: number
  /** Of the talk of both sides; 0 where nobody talked. */
  readonly talkShare: number
  readonly turns: number
  readonly interruptions: number
  /** Absent where this side never answered. */
  readonly meanResponseMs: number | undefined
}

export interface TalkMetrics {
  readonly channels: readonly [ChannelMetrics, ChannelMetrics]
  readonly overlapMs: number
  readonly silenceMs: number
  readonly deadAirMs: number
  readonly longestDeadAirMs: number
}

type Owned = TalkSpan & { readonly channel: 0 | 1 }

const lengthOf = (spans: readonly TalkSpan[]): number =>
  spans.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0)

/** By start; both at once, the longer one first, so that the shorter lies within it. */
const inOrder = (left: readonly TalkSpan[], right: readonly TalkSpan[]): readonly Owned[] =>
  [
    ...left.map((span) => ({ ...span, channel: 0 as const })),
    ...right.map((span) => ({ ...span, channel: 1 as const })),
  ].sort((one, other) => one.startMs - other.startMs || other.endMs - one.endMs)

/** The times in which nobody talks, the one before the first word and the one after the last among them. */
const pausesOf = (spans: readonly Owned[], lengthMs: number): readonly number[] => {
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
const exchangeOf = (spans: readonly Owned[], { interruptionMs }: TalkThresholds) => {
  const turns: [number, number] = [0, 0]
  const interruptions: [number, number] = [0, 0]
  const responses: [number[], number[]] = [[], []]
  const latestEndMs: [number, number] = [-1, -1]
  let floor: Owned | undefined
  for (const span of spans) {
    const { channel, startMs, endMs } = span
    const otherEndMs = latestEndMs[channel === 0 ? 1 : 0]
    if (startMs < otherEndMs && endMs > otherEndMs && otherEndMs - startMs >= interruptionMs)
      interruptions[channel] += 1
    latestEndMs[channel] = Math.max(latestEndMs[channel], endMs)
    // What lies within the other's talk takes no turn ("mhm").
    if (endMs <= otherEndMs) continue
    if (floor?.channel !== channel) {
      turns[channel] += 1
      if (floor !== undefined && startMs >= otherEndMs) responses[channel].push(startMs - otherEndMs)
    }
    floor = span
  }
  return { turns, interruptions, responses }
}

const meanOf = (values: readonly number[]): number | undefined =>
  values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length

/**
 * Figures of a conversation of two channels from 0 to `lengthMs`; spans in order, apart from each other, within it.
 * The definitions stand at the node `talk-statistics`.
 */
export const talkMetrics = (
  left: readonly TalkSpan[],
  right: readonly TalkSpan[],
  lengthMs: number,
  terms: TalkThresholds,
): TalkMetrics => {
  const spans = inOrder(left, right)
  const pauses = pausesOf(spans, lengthMs)
  const talkMs = [lengthOf(left), lengthOf(right)] as const
  const allMs = talkMs[0] + talkMs[1]
  const silenceMs = pauses.reduce((sum, pause) => sum + pause, 0)
  const dead = pauses.filter((pause) => pause >= terms.deadAirMs)
  const { turns, interruptions, responses } = exchangeOf(spans, terms)
  const figuresOf = (channel: 0 | 1): ChannelMetrics => ({
    talkMs: talkMs[channel],
    talkShare: allMs === 0 ? 0 : talkMs[channel] / allMs,
    turns: turns[channel],
    interruptions: interruptions[channel],
    meanResponseMs: meanOf(responses[channel]),
  })
  return {
    channels: [figuresOf(0), figuresOf(1)],
    // What both talked is counted twice in the sum, and once in the time that is no silence.
    overlapMs: allMs - (lengthMs - silenceMs),
    silenceMs,
    deadAirMs: dead.reduce((sum, pause) => sum + pause, 0),
    longestDeadAirMs: dead.reduce((most, pause) => Math.max(most, pause), 0),
  }
}
