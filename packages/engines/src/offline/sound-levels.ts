import type { SampleSpan } from './text-words.js'

const frameMs = 10
/**
 * Sound of speech is louder than the noise by this, or not quieter than the loudest by the other: powers, 9 and 12 dB.
 */
const overNoise = 8
const underPeak = 1 / 16
/** The pitch of voices, in Hz, and how similar one period must be to the next. */
const minPitchHz = 70
const maxPitchHz = 400
const minSimilarity = 0.6

/** How loud the frames of some audio are, and what stands out of its noise. */
export class SoundLevels {
  readonly #samples: Int16Array
  readonly #frame: number
  readonly #rateHz: number
  readonly #powers: Float64Array
  readonly #threshold: number
  /** How much the loudest frames are above the quietest, in dB. */
  readonly rangeDb: number

  constructor(samples: Int16Array, sampleRateHz: number) {
    this.#samples = samples
    this.#rateHz = sampleRateHz
    this.#frame = Math.round((sampleRateHz * frameMs) / 1000)
    this.#powers = Float64Array.from({ length: Math.floor(samples.length / this.#frame) }, (_none, index) =>
      powerOf(samples, index * this.#frame, this.#frame),
    )
    const sorted = this.#powers.toSorted()
    const noise = 1 + (sorted[Math.floor(0.1 * sorted.length)] ?? 0)
    const peak = 1 + (sorted[Math.floor(0.95 * sorted.length)] ?? 0)
    this.rangeDb = 10 * Math.log10(peak / noise)
    this.#threshold = Math.max(Math.min(noise * overNoise, peak * underPeak), 1)
  }

  /** How long there is sound that may be speech. */
  soundMs({ from, to }: SampleSpan = { from: 0, to: this.#samples.length }): number {
    return this.#soundFrames(from, to).length * frameMs
  }

  /** Where sound that may be speech begins in a span; where the span begins if it has none. */
  soundFrom({ from, to }: SampleSpan): number {
    const [first] = this.#soundFrames(from, to)
    return first === undefined ? from : first * this.#frame
  }

  /**
   * How long of it has a pitch, as all speech has somewhere that is not whispered, and clicks, breath and noise have
   * not.
   */
  pitchedMs(): number {
    const frames = this.#soundFrames(0, this.#samples.length)
    return frames.filter((index) => this.#hasPitch(index * this.#frame)).length * frameMs
  }

  /** The middle of the quietest 100 ms of a span, and the latest of equal ones. */
  quietest({ from, to }: SampleSpan): number {
    const half = 5
    let best = { index: Math.floor(to / this.#frame), power: Infinity }
    const first = Math.max(Math.ceil(from / this.#frame), half)
    for (let index = first; index + half <= this.#powers.length && index * this.#frame <= to; index += 1) {
      let power = 0
      for (let near = index - half; near < index + half; near += 1) power += this.#powers[near] ?? 0
      if (power <= best.power) best = { index, power }
    }
    return Math.min(best.index * this.#frame, to)
  }

  #soundFrames(from: number, to: number): readonly number[] {
    const frames: number[] = []
    const end = Math.min(Math.floor(to / this.#frame), this.#powers.length)
    for (let index = Math.max(Math.ceil(from / this.#frame), 0); index < end; index += 1) {
      if ((this.#powers[index] ?? 0) >= this.#threshold) frames.push(index)
    }
    return frames
  }

  /** Compares 30 ms with the same a period later, for each period of a voice; a quarter of the samples is enough. */
  #hasPitch(at: number): boolean {
    const length = 3 * this.#frame
    const longest = Math.round(this.#rateHz / minPitchHz)
    if (at + length + longest > this.#samples.length) return false
    const step = Math.max(Math.round(this.#rateHz / 8000), 1)
    for (let lag = Math.round(this.#rateHz / maxPitchHz); lag <= longest; lag += step) {
      if (similarity(this.#samples, at, lag, length, 2 * step) >= minSimilarity) return true
    }
    return false
  }
}

const powerOf = (samples: Int16Array, from: number, length: number): number => {
  let sum = 0
  for (let index = from; index < from + length; index += 1) sum += (samples[index] ?? 0) ** 2
  return sum / length
}

/** The normalized correlation of a stretch with the one `lag` samples later, of every `step`th sample. */
const similarity = (samples: Int16Array, at: number, lag: number, length: number, step: number): number => {
  let [product, own, later] = [0, 1, 1]
  for (let index = at; index < at + length; index += step) {
    const [one, other] = [samples[index] ?? 0, samples[index + lag] ?? 0]
    product += one * other
    own += one * one
    later += other * other
  }
  return product / Math.sqrt(own * later)
}
