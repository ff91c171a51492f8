import { FrameLog } from './frame-log.js'
import type { SegmenterParameters } from './segmenter-parameters.js'

/** Where a segment that ran too long is cut, in samples: it ends at `end`; what speaks on starts at `start`, its speech at `onset`. */
export interface Cut {
  readonly end: number
  readonly start: number
  readonly onset: number
}

/** When speech has to be cut, where, and how much audio must be kept back so that the cut is still free. Positions in samples. */
export interface ForcedCut {
  readonly limit: number
  /** After so much speech a gap of `gapLength` is taken as the cut. */
  readonly gapAfter: number
  readonly gapLength: number
  /** Nothing from here on may leave before the cut is decided. */
  heldFrom(segment: { readonly start: number; readonly onset: number }): number
  observe(speech: boolean, frame: Int16Array): void
  choose(onset: number, now: number): Cut
}

const frameMs = 10
/** A realtime cut looks back so far for the quietest frame. */
const realtimeLookBackMs = 300
const realtimeGapMs = 100
/** The audio segmenter waits for at most so much audio. */
const longestLookAheadMs = 30_000
const lookAheadGapMs = 98

const at = (position: number): Cut => ({ end: position, start: position, onset: position })

/** The causal rule: from 80 % of M a gap of 100 ms, at M the end of the quietest frame of the last 300 ms. */
const realtimeCut = (maxSpeechMs: number, samplesPerMs: number, firstFrame: number): ForcedCut => {
  const hop = frameMs * samplesPerMs
  const limit = maxSpeechMs * samplesPerMs
  const lookBack = realtimeLookBackMs * samplesPerMs
  const log = new FrameLog(realtimeLookBackMs / frameMs, firstFrame)
  return {
    limit,
    gapAfter: 0.8 * limit,
    gapLength: realtimeGapMs * samplesPerMs,
    heldFrom: ({ onset }) => onset + limit - lookBack,
    observe: (speech, frame) => log.push(speech, frame),
    choose: (_onset, now) => at((log.quietestFrame((now - lookBack) / hop) + 1) * hop),
  }
}

/**
 * The rule for recordings: nothing leaves before the segment is decided, so the cut falls into the quietest gap of all
 * the speech, its padding shared at the middle; speech without a gap is cut at the quietest frame of its second half.
 */
const lookAheadCut = (parameters: SegmenterParameters, samplesPerMs: number, firstFrame: number): ForcedCut => {
  const { maxSpeechMs, preSpeechMs, postSpeechMs } = parameters
  const hop = frameMs * samplesPerMs
  const limitMs = maxSpeechMs === -1 ? longestLookAheadMs : Math.min(maxSpeechMs, longestLookAheadMs)
  const log = new FrameLog(Math.ceil(limitMs / frameMs) + 1, firstFrame)
  const padded = (from: number, to: number): Cut => {
    const middle = Math.round((from + to) / 2)
    return {
      end: Math.min(from + postSpeechMs * samplesPerMs, middle),
      start: Math.max(to - preSpeechMs * samplesPerMs, middle),
      onset: to,
    }
  }
  return {
    limit: limitMs * samplesPerMs,
    gapAfter: Infinity,
    gapLength: Infinity,
    heldFrom: ({ start }) => start,
    observe: (speech, frame) => log.push(speech, frame),
    choose: (onset, now) => {
      const gap = log.quietestGap(Math.ceil(onset / hop), Math.ceil(lookAheadGapMs / frameMs))
      if (gap !== undefined) return padded(gap.from * hop, gap.to * hop)
      return at((log.quietestFrame(Math.ceil((onset + now) / 2 / hop)) + 1) * hop)
    },
  }
}

/** Speech of any length is let through as it comes. */
const noCut: ForcedCut = {
  limit: Infinity,
  gapAfter: Infinity,
  gapLength: Infinity,
  heldFrom: () => Infinity,
  observe: () => undefined,
  choose: (_onset, now) => at(now),
}

/** The rule that the parameters ask for, with its own memory of one channel from its frame number `firstFrame` on. */
export const createForcedCut = (parameters: SegmenterParameters, samplesPerMs: number, firstFrame = 0): ForcedCut => {
  if (parameters.splitter === 'audio-segmenter') return lookAheadCut(parameters, samplesPerMs, firstFrame)
  return parameters.maxSpeechMs === -1 ? noCut : realtimeCut(parameters.maxSpeechMs, samplesPerMs, firstFrame)
}
