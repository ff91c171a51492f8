import { DtmfFrames, windowSteps, type DtmfFrame } from './dtmf-frames.js'

/** A detected digit, with sample indexes since the start. */
export interface DtmfDigit {
  /** 0 to 9, A to D, * or #. */
  readonly digit: string
  readonly startSample: number
  readonly endSample: number
}

export interface SampleSpan {
  readonly startSample: number
  readonly endSample: number
}

/** In steps of 2.5 ms: Q.24 accepts a tone of 40 ms and rejects one of less than 23 ms. */
const minToneSteps = 13
/** A pause of 40 ms separates two digits and a gap of 10 ms does not; the window of 20 ms is in between. */
const pauseSteps = 10
/** The maximum gap in a tone that is not confirmed yet. */
const maxGapSteps = 6
/** How long the steps of a tone that is not confirmed yet are kept. */
const historySteps = 48
const minClearShare = 0.6
/** How much earlier than its first clear window a tone can begin, and how much later it can end. */
const edgeSteps = 2
/** From the last step of a window to its middle. */
const middleSteps = windowSteps / 2

interface DetectedStep {
  readonly step: number
  readonly amplitude: number
  readonly isClear: boolean
}

interface Candidate {
  readonly digit: string
  readonly steps: readonly DetectedStep[]
}

interface Tone {
  readonly digit: string
  readonly firstStep: number
  lastStep: number
  peak: number
}

/**
 * Detects the digits of a telephone keypad in one channel (ITU-T Q.23, with the criteria of Q.24): it accepts tones of
 * 40 ms and more and rejects those of less than 23 ms, accepts frequency errors of 1.5 % and rejects those of 3.5 %,
 * and accepts a high tone from 8 dB below to 4 dB above the low one, each at `minLevelDbm0` or more. To reject speech,
 * both tones together must have most of the power in 60 % of the steps. Samples can arrive in chunks of any length.
 */
export class DtmfDetector {
  readonly #frames: DtmfFrames
  readonly #rest: Int16Array
  #restLength = 0
  #step = 0
  #candidate: Candidate | undefined
  #tone: Tone | undefined

  constructor(sampleRateHz: number, minLevelDbm0 = -30) {
    this.#frames = new DtmfFrames(sampleRateHz, minLevelDbm0)
    this.#rest = new Int16Array(this.#frames.stepSamples)
  }

  /** Returns the digits that end with these samples, 25 ms after their tones. */
  take(samples: Int16Array): readonly DtmfDigit[] {
    const digits: DtmfDigit[] = []
    const { stepSamples } = this.#frames
    let from = 0
    if (this.#restLength > 0) {
      from = Math.min(stepSamples - this.#restLength, samples.length)
      this.#rest.set(samples.subarray(0, from), this.#restLength)
      this.#restLength += from
      if (this.#restLength < stepSamples) return digits
      this.#restLength = 0
      this.#observe(this.#frames.take(this.#rest, 0), digits)
    }
    for (; from + stepSamples <= samples.length; from += stepSamples) {
      this.#observe(this.#frames.take(samples, from), digits)
    }
    this.#rest.set(samples.subarray(from))
    this.#restLength = samples.length - from
    return digits
  }

  /** Returns the digits at the end of the audio. Call it last. */
  end(): readonly DtmfDigit[] {
    return this.take(new Int16Array(this.#frames.stepSamples * (windowSteps + pauseSteps + 1)))
  }

  /** All samples before this one are decided; at most 150 ms behind the last sample. */
  get settledSample(): number {
    const undecided = this.#candidate?.steps[0]?.step
    const steps = [this.#step - 1, ...(undecided === undefined ? [] : [undecided - 1])]
    if (this.#tone !== undefined) steps.push(this.#tone.lastStep + edgeSteps + 1)
    return this.#startOf(Math.min(...steps))
  }

  /** The current tone as far as it is decided, with its edges. */
  get runningTone(): SampleSpan | undefined {
    return this.#tone === undefined ? undefined : this.spanWithEdges(this.#digitOf(this.#tone))
  }

  /** A digit with the tolerance of its edges. */
  spanWithEdges({ startSample, endSample }: SampleSpan): SampleSpan {
    const edge = edgeSteps * this.#frames.stepSamples
    return { startSample: Math.max(0, startSample - edge), endSample: endSample + edge }
  }

  /** The first sample of a tone whose first clear window ends with the step, with its edge. */
  #startOf(step: number): number {
    return Math.max(0, Math.floor((step + 0.5 - middleSteps - edgeSteps) * this.#frames.stepSamples))
  }

  #observe(frame: DtmfFrame, digits: DtmfDigit[]): void {
    const step = this.#step
    this.#step += 1
    const tone = this.#tone
    if (tone !== undefined && frame.digit === tone.digit && frame.amplitude >= tone.peak / 2) {
      tone.lastStep = step
      tone.peak = Math.max(tone.peak, frame.amplitude)
      this.#candidate = undefined
      return
    }
    if (tone !== undefined && step - tone.lastStep >= pauseSteps) this.#close(digits)
    this.#collect(frame, step)
    const confirmed = this.#confirmed()
    if (confirmed === undefined) return
    this.#close(digits)
    this.#candidate = undefined
    this.#tone = confirmed
  }

  #collect({ digit, amplitude, isClear }: DtmfFrame, step: number): void {
    const last = this.#candidate?.steps.at(-1)
    if (last !== undefined && step - last.step > maxGapSteps) this.#candidate = undefined
    if (digit === undefined) return
    const known = this.#candidate?.digit === digit ? this.#candidate.steps : []
    const steps = [...known, { step, amplitude, isClear }].filter((detected) => step - detected.step < historySteps)
    this.#candidate = { digit, steps }
  }

  /** The candidate as a tone once it is long enough. At its edges a window is half full and has half the amplitude. */
  #confirmed(): Tone | undefined {
    if (this.#candidate === undefined) return undefined
    const { digit, steps: detected } = this.#candidate
    const peak = detected.reduce((max, { amplitude }) => Math.max(max, amplitude), 0)
    const loud = detected.filter(({ amplitude }) => amplitude >= peak / 2)
    const firstStep = loud[0]?.step ?? 0
    const lastStep = loud.at(-1)?.step ?? 0
    const stepCount = lastStep - firstStep + 1
    const clear = loud.filter(({ isClear }) => isClear).length
    if (stepCount < minToneSteps || clear < minClearShare * stepCount) return undefined
    return { digit, firstStep, lastStep, peak }
  }

  #close(digits: DtmfDigit[]): void {
    if (this.#tone !== undefined) digits.push(this.#digitOf(this.#tone))
    this.#tone = undefined
  }

  #digitOf({ digit, firstStep, lastStep }: Tone): DtmfDigit {
    const { stepSamples } = this.#frames
    const sampleOf = (step: number): number => Math.max(0, Math.round((step + 0.5 - middleSteps) * stepSamples))
    return { digit, startSample: sampleOf(firstStep), endSample: sampleOf(lastStep + 1) }
  }
}
