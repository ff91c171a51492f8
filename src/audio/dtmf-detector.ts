import { DtmfFrames, windowSteps, type DtmfFrame } from './dtmf-frames.js'

/** A digit that was pressed: samples since the first one. */
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

/** In steps of 2.5 ms: Q.24 takes a tone of 40 ms and refuses one of less than 23 ms. */
const minToneSteps = 13
/** A pause of 40 ms parts two digits, a break of 10 ms does not; the window of 20 ms lies in between. */
const pauseSteps = 10
/** What a tone that is not sure yet may miss. */
const breakSteps = 6
/** How far back a tone that is not sure yet is remembered. */
const historySteps = 48
const minSureShare = 0.6
/** How much earlier than its first clear window a tone may have begun, and later ended. */
const edgeSteps = 2
/** From the step that ends a window to its middle. */
const middleSteps = windowSteps / 2

interface DetectedStep {
  readonly step: number
  readonly amplitude: number
  readonly isSure: boolean
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
 * Finds the digits of a telephone's keypad in one channel (ITU-T Q.23; the criteria of Q.24): tones of 40 ms and more are
 * taken and of less than 23 ms refused, frequencies 1.5 % off taken and 3.5 % off refused, the high tone from 8 dB below
 * the low one to 4 dB above, each at `minLevelDbm0` or more. So that speech is no digit, both tones together must have
 * most of the power at 60 % of all steps, their harmonics and all else the rest. Samples may come in pieces of any length.
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

  /** The digits that have ended with these samples: 25 ms after the tone. */
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

  /** What is pressed at the end: silence follows. Nothing may be taken afterwards. */
  end(): readonly DtmfDigit[] {
    return this.take(new Int16Array(this.#frames.stepSamples * (windowSteps + pauseSteps + 1)))
  }

  /** Up to here it is known what is tone and what isn't; never more than 150 ms behind the last sample. */
  get settledSample(): number {
    const undecided = this.#candidate?.steps[0]?.step
    const steps = [this.#step - 1, ...(undecided === undefined ? [] : [undecided - 1])]
    if (this.#tone !== undefined) steps.push(this.#tone.lastStep + edgeSteps + 1)
    return this.#startOf(Math.min(...steps))
  }

  /** The tone under way, as far as it is settled, its edges with it. */
  get runningTone(): SampleSpan | undefined {
    return this.#tone === undefined ? undefined : this.spanWithEdges(this.#digitOf(this.#tone))
  }

  /** A digit with the little that its edges may be off. */
  spanWithEdges({ startSample, endSample }: SampleSpan): SampleSpan {
    const edge = edgeSteps * this.#frames.stepSamples
    return { startSample: Math.max(0, startSample - edge), endSample: endSample + edge }
  }

  /** The sample at which a tone begins whose first clear window ends with the step, with the edge before it. */
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
    const begun = this.#begun()
    if (begun === undefined) return
    this.#close(digits)
    this.#candidate = undefined
    this.#tone = begun
  }

  #collect({ digit, amplitude, isSure }: DtmfFrame, step: number): void {
    const last = this.#candidate?.steps.at(-1)
    if (last !== undefined && step - last.step > breakSteps) this.#candidate = undefined
    if (digit === undefined) return
    const known = this.#candidate?.digit === digit ? this.#candidate.steps : []
    const steps = [...known, { step, amplitude, isSure }].filter((detected) => step - detected.step < historySteps)
    this.#candidate = { digit, steps }
  }

  /** The candidate as a tone once it has lasted; at its edges a window is half full, and so is the amplitude. */
  #begun(): Tone | undefined {
    if (this.#candidate === undefined) return undefined
    const { digit, steps: detected } = this.#candidate
    const peak = detected.reduce((max, { amplitude }) => Math.max(max, amplitude), 0)
    const loud = detected.filter(({ amplitude }) => amplitude >= peak / 2)
    const firstStep = loud[0]?.step ?? 0
    const lastStep = loud.at(-1)?.step ?? 0
    const steps = lastStep - firstStep + 1
    const sure = loud.filter(({ isSure }) => isSure).length
    if (steps < minToneSteps || sure < minSureShare * steps) return undefined
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
