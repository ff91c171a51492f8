import { aLawSamples, muLawSamples } from '../g711.js'

/** Blocks of 100 ms that DC and hum are looked for in. */
const spanBlocks = 16
/** The mean of samples that disturbs: 2 % of full scale. */
const minOffset = 655
/** How much the mean of a block may deviate from that of all, as a share of it; that of noise deviates more. */
const maxOffsetDeviation = 0.3
const mainsHz = [50, 60] as const
/** The amplitude of a tone of -41 dBFS: recordings of rooms have some hum, which is below that also at full scale. */
const minHum = 430
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

  /** Counts the runs of a value in a block: of this one, or of one beyond it. */
  count(samples: Int16Array, length: number, value: number): void {
    if (value !== this.value) this.reset(value)
    if (Math.abs(value) < minTop) return
    let run = 0
    for (let i = 0; i < length; i++) {
      run = samples[i] === value ? run + 1 : 0
      if (run < flatRun) continue
      if (run === flatRun) this.runs += 1
      this.samples += run === flatRun ? flatRun : 1
    }
  }

  /** How many samples are cut off here, and not only rounded to the steps of their encoding. */
  clippedSamples(isCoarse: boolean): number {
    if (this.runs < minFlatRuns) return 0
    const isCutOff = Math.abs(this.value) >= fullScale || (!isCoarse && !isStep(this.value))
    return isCutOff ? this.samples : 0
  }
}

/** Whether a sample is one of G.711, which are so far apart that the top of a wave is flat. */
const isStep = (sample: number): boolean => muLawSamples().includes(sample) || aLawSamples().includes(sample)

/** The bits that are 0 in audio of 10 bits or less, whose samples are as far apart. */
const lowBits = 63

/** Waves of a mains frequency at the points of a block, and their turn from block to block, in radians. */
interface MainsWaves {
  readonly cosines: Float64Array
  readonly sines: Float64Array
  readonly turn: number
}

const wavesByRate = new Map<number, readonly MainsWaves[]>()

const mainsWaves = (sampleRateHz: number, step: number): readonly MainsWaves[] => {
  const waves = wavesByRate.get(sampleRateHz) ?? mainsHz.map((hz) => wavesOf((2 * Math.PI * hz * step) / sampleRateHz))
  wavesByRate.set(sampleRateHz, waves)
  return waves
}

const wavesOf = (radians: number): MainsWaves => ({
  cosines: Float64Array.from({ length: pointsPerBlock }, (_none, i) => Math.cos(radians * i)),
  sines: Float64Array.from({ length: pointsPerBlock }, (_none, i) => -Math.sin(radians * i)),
  turn: radians * pointsPerBlock,
})

/** The means of the thousandth parts of a second of one block, used within one call. */
const points = new Float64Array(pointsPerBlock)

/** The measures of one block. */
export interface BlockMeasure {
  /** The mean square without the mean. */
  power: number
  mean: number
  /** From the smallest to the largest sample. */
  range: number
  /** Nothing but the offset is looked for here, and the measures are those of some samples. */
  isQuiet: boolean
}

/** Blocks of a smaller range are quiet: hum that disturbs has seven times that, and speech even more. */
const minRange = 120
/** The samples of a block, and their stride from its end, that decide whether it is quiet. */
const quietPoints = 50
const quietStride = 479

/** Finds clipping, an offset and mains hum in the samples of one channel. */
export class SignalCheck {
  readonly measure: BlockMeasure = { power: 0, mean: 0, range: 0, isQuiet: false }
  readonly #step: number
  readonly #waves: readonly MainsWaves[]
  /** Rings of `spanBlocks`: means, and phasors of each frequency. */
  readonly #means = new Float64Array(spanBlocks)
  readonly #real = mainsHz.map(() => new Float64Array(spanBlocks))
  readonly #imaginary = mainsHz.map(() => new Float64Array(spanBlocks))
  readonly #top = new Extreme()
  readonly #bottom = new Extreme()
  #soundSamples = 0
  #soundBlocks = 0
  #blocks = 0
  /** The bits of some samples of each block. */
  #bits = 0

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
    this.#measureSome(samples)
    if (!this.measure.isQuiet) this.#measureAll(samples)
    this.#keep()
  }

  /** Measures some samples; no tone has one phase at all of them. */
  #measureSome(samples: Int16Array): void {
    const { measure } = this
    const count = pointsPerBlock * this.#step
    let at = 0
    let [sum, squares] = [0, 0]
    let max = samples[0] ?? 0
    let min = max
    for (let i = 0; i < quietPoints; i++) {
      at = (at + quietStride) % count
      const sample = samples[at] ?? 0
      sum += sample
      squares += sample * sample
      this.#bits |= sample
      if (sample > max) max = sample
      else if (sample < min) min = sample
    }
    measure.mean = sum / quietPoints
    measure.power = Math.max(squares / quietPoints - measure.mean * measure.mean, 0)
    measure.range = max - min
    measure.isQuiet = measure.range < minRange
  }

  #measureAll(samples: Int16Array): void {
    const { measure } = this
    const step = this.#step
    let [at, sum, squares] = [0, 0, 0]
    let max = samples[0] ?? 0
    let min = max
    for (let point = 0; point < pointsPerBlock; point++) {
      let part = 0
      for (let i = 0; i < step; i++) {
        const sample = samples[at++] ?? 0
        part += sample
        squares += sample * sample
        if (sample > max) max = sample
        else if (sample < min) min = sample
      }
      points[point] = part / step
      sum += part
    }
    measure.mean = sum / at
    measure.power = Math.max(squares / at - measure.mean * measure.mean, 0)
    measure.range = max - min
    if (measure.power >= minBlockPower) {
      this.#soundSamples += at
      this.#soundBlocks += 1
    }
    if (max >= this.#top.value) this.#top.count(samples, at, max)
    if (min <= this.#bottom.value) this.#bottom.count(samples, at, min)
  }

  #keep(): void {
    const slot = this.#blocks % spanBlocks
    this.#means[slot] = this.measure.mean
    for (let f = 0; f < mainsHz.length; f++) this.#keepPhasor(this.#waves[f], this.#real[f], this.#imaginary[f], slot)
    this.#blocks += 1
  }

  #keepPhasor(
    waves: MainsWaves | undefined,
    reals: Float64Array | undefined,
    imaginaries: Float64Array | undefined,
    slot: number,
  ): void {
    if (waves === undefined || reals === undefined || imaginaries === undefined) return
    let [real, imaginary] = [0, 0]
    if (!this.measure.isQuiet) {
      const { cosines, sines } = waves
      for (let point = 0; point < pointsPerBlock; point++) {
        const value = (points[point] ?? 0) - this.measure.mean
        real += value * (cosines[point] ?? 0)
        imaginary += value * (sines[point] ?? 0)
      }
    }
    const angle = -waves.turn * this.#blocks
    const [cosine, sine] = [Math.cos(angle), Math.sin(angle)]
    reals[slot] = (2 * (real * cosine - imaginary * sine)) / pointsPerBlock
    imaginaries[slot] = (2 * (real * sine + imaginary * cosine)) / pointsPerBlock
  }

  /** Whether loud parts are cut off, since the last reset. */
  get isClipped(): boolean {
    const isCoarse = (this.#bits & lowBits) === 0
    const samples = this.#top.clippedSamples(isCoarse) + this.#bottom.clippedSamples(isCoarse)
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
    if (reals === undefined || imaginaries === undefined) return false
    const last = (this.#blocks - 1) % spanBlocks
    // Steady hum is in each block.
    if (Math.abs(reals[last] ?? 0) + Math.abs(imaginaries[last] ?? 0) < minHum / 2) return false
    let [real, imaginary, unitReal, unitImaginary] = [0, 0, 0, 0]
    for (let i = 0; i < spanBlocks; i++) {
      const [x, y] = [reals[i] ?? 0, imaginaries[i] ?? 0]
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
