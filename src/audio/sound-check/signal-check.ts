import { aLawSamples, muLawSamples } from '../g711.js'

/** Blocks of 100 ms that DC and hum are looked for in. */
const spanBlocks = 16
/** The mean of samples that disturbs: 2 % of full scale. */
const minOffset = 655
/** How much the mean of a block may deviate from that of all, as a share of it; that of noise deviates more. */
const maxOffsetDeviation = 0.3
const mainsHz = [50, 60] as const
/** -43 dBFS, as amplitude. */
const minHum = 330
/** The length of the mean of the phases of hum, 1 for a steady tone and 0.25 for noise. */
const minSteadiness = 0.92
/** Points per block at which hum is measured, about 1 kHz. */
export const pointsPerBlock = 100

/** Samples that follow each other and are equal, at the largest value that there is. */
const flatRun = 3
const minFlatRuns = 8
/** The share of samples with sound that are cut off. */
const minClipped = 0.004
/** Above that it is a square wave, unless it fills the scale. */
const maxClipped = 0.7
/** Blocks with sound before clipping is certain. */
const minSoundBlocks = 6
/** The largest value of audio that is cut off where its encoding ends, and of audio that was cut off before that. */
const fullScale = 31_900
const minTop = 1000
/** Quieter blocks are no speech: -50 dBFS, as mean square. */
export const minBlockPower = 10_000

/** The largest or smallest value of the audio so far, and how often it was held. */
class Extreme {
  value = 0
  runs = 0
  samples = 0

  /** A value beyond those so far. */
  reset(value: number): void {
    this.value = value
    this.runs = 0
    this.samples = 0
  }

  /** Whether the audio is cut off here, and not only rounded to the steps of its encoding. */
  get isClipped(): boolean {
    const height = Math.abs(this.value)
    return this.runs >= minFlatRuns && (height >= fullScale || (height >= minTop && !isStep(this.value)))
  }
}

/** Whether a sample is one of G.711, or of 10 bits or less: they are so far apart that the top of a wave is flat. */
const isStep = (sample: number): boolean =>
  sample % 64 === 0 || isIn(sample, muLawSamples()) || isIn(sample, aLawSamples())

const isIn = (sample: number, table: Int16Array): boolean => table.includes(sample)

/** Waves of the frequencies of mains in the points of a block, and how far they turn from a block to the next, in radians. */
interface MainsWaves {
  readonly cosines: readonly Float64Array[]
  readonly sines: readonly Float64Array[]
  readonly turns: readonly number[]
}

const wavesByRate = new Map<number, MainsWaves>()

const mainsWaves = (sampleRateHz: number, step: number): MainsWaves => {
  const known = wavesByRate.get(sampleRateHz)
  if (known !== undefined) return known
  const radiansPerPoint = mainsHz.map((hz) => (2 * Math.PI * hz * step) / sampleRateHz)
  const wave = (of: (angle: number) => number): readonly Float64Array[] =>
    radiansPerPoint.map((radians) => Float64Array.from({ length: pointsPerBlock }, (_none, i) => of(radians * i)))
  const waves = {
    cosines: wave(Math.cos),
    sines: wave((angle) => -Math.sin(angle)),
    turns: radiansPerPoint.map((radians) => radians * pointsPerBlock),
  }
  wavesByRate.set(sampleRateHz, waves)
  return waves
}

/** The means of the thousandth parts of a second of one block, used within one call. */
const points = new Float64Array(pointsPerBlock)

/** The measures of one block. */
export interface BlockMeasure {
  /** The mean square without the mean. */
  power: number
  mean: number
  /** From the smallest to the largest sample. */
  range: number
}

/** Finds clipping, an offset and mains hum in the samples of one channel. */
export class SignalCheck {
  readonly measure: BlockMeasure = { power: 0, mean: 0, range: 0 }
  readonly #step: number
  readonly #waves: MainsWaves
  /** Rings of `spanBlocks`: means, and phasors of each frequency. */
  readonly #means = new Float64Array(spanBlocks)
  readonly #real = mainsHz.map(() => new Float64Array(spanBlocks))
  readonly #imaginary = mainsHz.map(() => new Float64Array(spanBlocks))
  readonly #top = new Extreme()
  readonly #bottom = new Extreme()
  #soundSamples = 0
  #soundBlocks = 0
  #blocks = 0

  constructor(sampleRateHz: number) {
    this.#step = Math.floor(sampleRateHz / 1000)
    this.#waves = mainsWaves(sampleRateHz, this.#step)
  }

  /** Forgets what was measured, because there is a gap before the next block. */
  reset(): void {
    this.#blocks = 0
    this.#soundSamples = 0
    this.#soundBlocks = 0
    this.#top.reset(0)
    this.#bottom.reset(0)
  }

  /** Measures a block: `pointsPerBlock` times the thousandth part of the rate. */
  examine(samples: Int16Array): void {
    const [top, bottom, step] = [this.#top, this.#bottom, this.#step]
    let [at, sum, squares, run, before] = [0, 0, 0, 0, 0]
    let [max, min] = [-32_768, 32_767]
    for (let point = 0; point < pointsPerBlock; point++) {
      let part = 0
      for (let i = 0; i < step; i++) {
        const sample = samples[at++] ?? 0
        part += sample
        squares += sample * sample
        if (sample !== before) {
          run = 1
          before = sample
          if (sample > max) max = sample
          if (sample < min) min = sample
        } else {
          run += 1
          if (run >= flatRun && (sample >= top.value || sample <= bottom.value)) this.#flat(sample, run)
        }
      }
      points[point] = part / step
      sum += part
    }
    if (max > top.value) top.reset(max)
    if (min < bottom.value) bottom.reset(min)
    const { measure } = this
    measure.mean = sum / at
    measure.power = Math.max(squares / at - measure.mean * measure.mean, 0)
    measure.range = Math.max(max - min, 0)
    if (measure.power >= minBlockPower) {
      this.#soundSamples += at
      this.#soundBlocks += 1
    }
    this.#keep()
  }

  #flat(sample: number, run: number): void {
    const extreme = sample >= this.#top.value ? this.#top : this.#bottom
    if (sample !== extreme.value) extreme.reset(sample)
    if (run === flatRun) extreme.runs += 1
    extreme.samples += run === flatRun ? flatRun : 1
  }

  #keep(): void {
    const slot = this.#blocks % spanBlocks
    this.#means[slot] = this.measure.mean
    for (let f = 0; f < mainsHz.length; f++) {
      const [cosines, sines] = [this.#waves.cosines[f], this.#waves.sines[f]]
      let [real, imaginary] = [0, 0]
      for (let point = 0; point < pointsPerBlock; point++) {
        const value = (points[point] ?? 0) - this.measure.mean
        real += value * (cosines?.[point] ?? 0)
        imaginary += value * (sines?.[point] ?? 0)
      }
      const angle = -(this.#waves.turns[f] ?? 0) * this.#blocks
      const [cosine, sine] = [Math.cos(angle), Math.sin(angle)]
      const [reals, imaginaries] = [this.#real[f], this.#imaginary[f]]
      if (reals !== undefined) reals[slot] = (2 * (real * cosine - imaginary * sine)) / pointsPerBlock
      if (imaginaries !== undefined) imaginaries[slot] = (2 * (real * sine + imaginary * cosine)) / pointsPerBlock
    }
    this.#blocks += 1
  }

  /** Whether loud parts are cut off, since the last reset. */
  get isClipped(): boolean {
    const samples = (this.#top.isClipped ? this.#top.samples : 0) + (this.#bottom.isClipped ? this.#bottom.samples : 0)
    const share = samples / this.#soundSamples
    const isFull = this.#top.value >= fullScale && this.#bottom.value <= -fullScale
    return this.#soundBlocks >= minSoundBlocks && share >= minClipped && (isFull || share <= maxClipped)
  }

  /** Whether the samples have had a constant offset in the last blocks. */
  get hasOffset(): boolean {
    if (this.#blocks < spanBlocks) return false
    let mean = 0
    for (const value of this.#means) mean += value / spanBlocks
    if (Math.abs(mean) < minOffset) return false
    let deviation = 0
    for (const value of this.#means) deviation += (value - mean) ** 2 / spanBlocks
    return Math.sqrt(deviation) <= maxOffsetDeviation * Math.abs(mean)
  }

  /** The frequency of the mains that is heard as a steady tone, if one is. */
  get humHz(): number | undefined {
    if (this.#blocks < spanBlocks) return undefined
    return mainsHz.find((_hz, f) => this.#hums(this.#real[f], this.#imaginary[f]))
  }

  #hums(reals: Float64Array | undefined, imaginaries: Float64Array | undefined): boolean {
    const last = (this.#blocks - 1) % spanBlocks
    // Steady hum is in each block.
    if (Math.abs(reals?.[last] ?? 0) + Math.abs(imaginaries?.[last] ?? 0) < minHum / 2) return false
    let [real, imaginary, unitReal, unitImaginary] = [0, 0, 0, 0]
    for (let i = 0; i < spanBlocks; i++) {
      const [x, y] = [reals?.[i] ?? 0, imaginaries?.[i] ?? 0]
      const amplitude = Math.hypot(x, y)
      real += x / spanBlocks
      imaginary += y / spanBlocks
      if (amplitude === 0) continue
      unitReal += x / amplitude / spanBlocks
      unitImaginary += y / amplitude / spanBlocks
    }
    return Math.hypot(real, imaginary) >= minHum && Math.hypot(unitReal, unitImaginary) >= minSteadiness
  }
}
