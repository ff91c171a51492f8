import type { SegmenterParameters } from './segmenter-parameters.js'

/**
 * Where a segment that is too long is cut, in samples: it ends at `end`; the next one starts at `start`, its speech at
 * `onset`.
 */
interface Cut {
  readonly end: number
  readonly start: number
  readonly onset: number
}

/** Decides when and where speech is cut, and how much audio must be held back until then. Positions in samples. */
export interface ForcedCut {
  readonly limit: number
  /** After this much speech a gap of `gapLength` is used as the cut. */
  readonly gapAfter: number
  readonly gapLength: number
  /** Audio from this position on may not leave before the cut is decided. */
  heldFrom(segment: { readonly start: number; readonly onset: number }): number
  observe(isSpeech: boolean, frame: Int16Array): void
  choose(onset: number, now: number): Cut
}

const frameMs = 10
/** How far a realtime cut looks back for the quietest frame. */
const realtimeLookBackMs = 300
const realtimeGapMs = 100
/** How much audio the audio segmenter waits for at most. */
const maxLookAheadMs = 30_000
const lookAheadGapMs = 98

/** The rule for the parameters, with its own history of one channel from frame number `firstFrame` on. */
export const createForcedCut = (parameters: SegmenterParameters, samplesPerMs: number, firstFrame = 0): ForcedCut => {
  if (parameters.audioSplitter === 'audio-segmenter') return lookAheadCut(parameters, samplesPerMs, firstFrame)
  return parameters.maxSpeechDurationMs === -1
    ? noCut
    : realtimeCut(parameters.maxSpeechDurationMs, samplesPerMs, firstFrame)
}

/**
 * The causal rule: from 80 % of the limit on a gap of 100 ms, at the limit the end of the quietest frame of the last
 * 300 ms.
 */
const realtimeCut = (maxSpeechDurationMs: number, samplesPerMs: number, firstFrame: number): ForcedCut => {
  const hop = frameMs * samplesPerMs
  const limit = maxSpeechDurationMs * samplesPerMs
  const lookBack = realtimeLookBackMs * samplesPerMs
  const history = new FrameHistory(realtimeLookBackMs / frameMs, firstFrame)
  return {
    limit,
    gapAfter: 0.8 * limit,
    gapLength: realtimeGapMs * samplesPerMs,
    heldFrom: ({ onset }) => onset + limit - lookBack,
    observe: (isSpeech, frame) => history.push(isSpeech, frame),
    choose: (_onset, now) => cutAt((history.quietestFrame((now - lookBack) / hop) + 1) * hop),
  }
}

/**
 * The rule for recordings: no audio leaves before the segment is decided, so the cut is placed in the quietest gap of
 * all the speech and both sides share the gap. Speech without a gap is cut at the quietest frame of its second half.
 */
const lookAheadCut = (parameters: SegmenterParameters, samplesPerMs: number, firstFrame: number): ForcedCut => {
  const { maxSpeechDurationMs, preSpeechBufferMs, postSpeechBufferMs } = parameters
  const hop = frameMs * samplesPerMs
  const limitMs = maxSpeechDurationMs === -1 ? maxLookAheadMs : Math.min(maxSpeechDurationMs, maxLookAheadMs)
  const history = new FrameHistory(Math.ceil(limitMs / frameMs) + 1, firstFrame)
  const cutInGap = (from: number, to: number): Cut => {
    const middle = Math.round((from + to) / 2)
    return {
      end: Math.min(from + postSpeechBufferMs * samplesPerMs, middle),
      start: Math.max(to - preSpeechBufferMs * samplesPerMs, middle),
      onset: to,
    }
  }
  return {
    limit: limitMs * samplesPerMs,
    gapAfter: Infinity,
    gapLength: Infinity,
    heldFrom: ({ start }) => start,
    observe: (isSpeech, frame) => history.push(isSpeech, frame),
    choose: (onset, now) => {
      const gap = history.quietestGap(Math.ceil(onset / hop), Math.ceil(lookAheadGapMs / frameMs))
      if (gap !== undefined) return cutInGap(gap.from * hop, gap.to * hop)
      return cutAt((history.quietestFrame(Math.ceil((onset + now) / 2 / hop)) + 1) * hop)
    },
  }
}

const cutAt = (position: number): Cut => ({ end: position, start: position, onset: position })

/** Speech of any length leaves as it arrives. */
const noCut: ForcedCut = {
  limit: Infinity,
  gapAfter: Infinity,
  gapLength: Infinity,
  heldFrom: () => Infinity,
  observe: () => undefined,
  choose: (_onset, now) => cutAt(now),
}

/** A stretch of frames without speech, `[from, to)` in frame numbers. */
interface Gap {
  readonly from: number
  readonly to: number
}

/** Power and speech verdict of the newest frames of one channel, by frame number. */
class FrameHistory {
  readonly #power: Float32Array
  readonly #isSpeech: Uint8Array
  readonly #firstFrame: number
  #count: number

  /** `firstFrame` is the number of the first frame that is pushed. */
  constructor(capacityFrames: number, firstFrame: number) {
    this.#firstFrame = firstFrame
    this.#count = firstFrame
    this.#power = new Float32Array(capacityFrames)
    this.#isSpeech = new Uint8Array(capacityFrames)
  }

  push(isSpeech: boolean, frame: Int16Array): void {
    const slot = this.#count % this.#power.length
    this.#power[slot] = meanPower(frame)
    this.#isSpeech[slot] = isSpeech ? 1 : 0
    this.#count += 1
  }

  /**
   * The quietest frame of `[from, now)`; the newest of equal ones, so that a steady sound is cut as late as possible.
   */
  quietestFrame(from: number): number {
    let quietest = this.#count - 1
    for (let frame = quietest - 1; frame >= this.#oldestFrom(from); frame -= 1) {
      if (this.#powerOf(frame) < this.#powerOf(quietest)) quietest = frame
    }
    return quietest
  }

  /** The gap of `[from, now)` of at least `minFrames` with the lowest mean power (the newest of equal ones), if any. */
  quietestGap(from: number, minFrames: number): Gap | undefined {
    let best: (Gap & { readonly meanPower: number }) | undefined
    let gapFrom = this.#oldestFrom(from)
    let total = 0
    for (let frame = gapFrom; frame <= this.#count; frame += 1) {
      if (frame < this.#count && this.#isSpeech[frame % this.#isSpeech.length] !== 1) {
        total += this.#powerOf(frame)
        continue
      }
      const length = frame - gapFrom
      const mean = total / length
      if (length >= minFrames && (best === undefined || mean <= best.meanPower)) {
        best = { from: gapFrom, to: frame, meanPower: mean }
      }
      gapFrom = frame + 1
      total = 0
    }
    return best
  }

  #oldestFrom(from: number): number {
    return Math.max(from, this.#count - this.#power.length, this.#firstFrame)
  }

  #powerOf(frame: number): number {
    return this.#power[frame % this.#power.length] ?? 0
  }
}

/** The mean square of the samples; 2^30 is full scale. */
export const meanPower = (frame: Int16Array): number => {
  let sum = 0
  // By index: for-of costs three times as much, and this runs for every sample.
  const { length } = frame
  for (let index = 0; index < length; index += 1) sum += (frame[index] ?? 0) ** 2
  return length === 0 ? 0 : sum / length
}
