/** The rate of the samples that voice activity examines. */
export const bandRateHz = 8000

/** Samples of a frame of 10 ms at that rate. */
export const bandFrame = bandRateHz / 100

/** Taps for each sample of the input that becomes one of the output. */
const tapsPerStep = 16
/** The filter ends below half of the rate, because it has a slope. */
const passShare = 0.92

/** Points of the output that are summed at the same time; divides `bandFrame`. */
const pointsAtOnce = 4

/** A windowed sinc, whose sum is one. */
const lowPass = (step: number): Float64Array => {
  const taps = tapsPerStep * step - 1
  const filter = Float64Array.from({ length: taps }, (_none, tap) => {
    const phase = (Math.PI * passShare * (tap - (taps - 1) / 2)) / step
    const window = 0.5 - 0.5 * Math.cos((2 * Math.PI * (tap + 1)) / (taps + 1))
    return window * (phase === 0 ? 1 : Math.sin(phase) / phase)
  })
  const sum = filter.reduce((total, value) => total + value, 0)
  return filter.map((value) => value / sum)
}

/**
 * Takes the frames of a channel down to 8 kHz, the band of a telephone. Voices have nearly all of their power there; of
 * white noise half or more is above it, and would hide soft speech from a test of the level. Allocates nothing for a
 * frame.
 */
export class TelephoneBand {
  readonly #step: number
  readonly #filter: Float64Array
  /** What the filter still needs of former frames, and the frame. */
  readonly #samples: Float64Array
  readonly #frame = new Int16Array(bandFrame)

  constructor(sampleRateHz: number) {
    this.#step = sampleRateHz / bandRateHz
    this.#filter = lowPass(this.#step)
    this.#samples = new Float64Array(this.#filter.length - 1 + bandFrame * this.#step)
  }

  /** The frame at 8 kHz, late by 1 ms. It is valid until the next call. */
  take(frame: Int16Array): Int16Array {
    const samples = this.#samples
    const kept = this.#filter.length - 1
    samples.copyWithin(0, samples.length - kept)
    samples.set(frame, kept)
    for (let point = 0; point < bandFrame; point += pointsAtOnce) this.#filterPoints(point)
    return this.#frame
  }

  /**
   * Four sums at a time, which do not wait for each other. The taps are taken in steps, so that the sample of one point
   * is that of the next one with the tap before.
   */
  #filterPoints(point: number): void {
    const filter = this.#filter
    const samples = this.#samples
    const step = this.#step
    let [first, second, third, fourth] = [0, 0, 0, 0]
    for (let phase = 0; phase < step; phase += 1) {
      let at = point * step + phase
      let a = samples[at] ?? 0
      let b = samples[at + step] ?? 0
      let c = samples[at + 2 * step] ?? 0
      at += 3 * step
      for (let tap = phase; tap < filter.length; tap += step, at += step) {
        const factor = filter[tap] ?? 0
        const d = samples[at] ?? 0
        first += factor * a
        second += factor * b
        third += factor * c
        fourth += factor * d
        a = b
        b = c
        c = d
      }
    }
    this.#frame[point] = toSample(first)
    this.#frame[point + 1] = toSample(second)
    this.#frame[point + 2] = toSample(third)
    this.#frame[point + 3] = toSample(fourth)
  }
}

const toSample = (value: number): number => Math.max(-32_768, Math.min(32_767, Math.round(value)))
