/** ITU-T Q.23: one frequency of each group at a time, in Hz. */
export const lowGroupHz = [697, 770, 852, 941] as const
export const highGroupHz = [1209, 1336, 1477, 1633] as const
/** Ordered by low frequency, then by high frequency. */
const keypad = ['1', '2', '3', 'A', '4', '5', '6', 'B', '7', '8', '9', 'C', '*', '0', '#', 'D']

/** The length of an analysis step; a window has `windowSteps` steps. */
const stepSeconds = 0.0025
export const windowSteps = 8

/** A Hann window, a weight for each step. Bins are 100 Hz wide at half height; images are at zeros of a 2.5 ms step. */
const weights = Float64Array.from(
  { length: windowSteps },
  (_none, step) => Math.sin((Math.PI * (step + 0.5)) / windowSteps) ** 2,
)
const weightSum = weights.reduce((sum, weight) => sum + weight, 0)
const squareSum = weights.reduce((sum, weight) => sum + weight * weight, 0)

/** A sine at full scale of 16 bits, 3.14 dBm0 (ITU-T G.711), as mean square. */
const fullScalePower = 32_768 ** 2 / 2
const fullScaleDbm0 = 3.14

/** Between what Q.24 accepts (1.5 %) and rejects (3.5 %). */
const maxFrequencyError = 0.025
/** Q.24 accepts a high tone from 8 dB below to 4 dB above the low one; this adds 1 dB for noise. */
const maxTwistDb = 5
const minTwistDb = -9
/** The minimum share of the two tones in the power: inside a tone, and at its edges, where the window is half empty. */
const clearShare = 0.65
const edgeShare = 0.4
/** The frequency error is computed from the phase change over this number of steps. */
const phaseSteps = 2

/** The result of one window. */
export interface DtmfFrame {
  /** The digit whose two tones meet the criteria, or undefined. */
  readonly digit: string | undefined
  /** The total amplitude of both tones, in samples. */
  readonly amplitude: number
  /** Whether the window contains little besides the tones. */
  readonly isClear: boolean
}

const nothing = { real: 0, imaginary: 0 }
const noFrame: DtmfFrame = { digit: undefined, amplitude: 0, isClear: false }

interface Tone {
  readonly index: number
  /** Mean square, in samples. */
  readonly power: number
}

/** The attenuation of a Hann window for a tone at a distance of this many bins. */
const attenuation = (bins: number): number =>
  bins === 0 ? 1 : Math.sin(Math.PI * bins) / (Math.PI * bins) / (1 - bins * bins)

/**
 * Detects the eight tones of a keypad in one channel in steps of 2.5 ms, each together with the 17.5 ms before it. It
 * needs eight multiplications per sample, and none in quiet audio.
 */
export class DtmfFrames {
  readonly stepSamples: number
  readonly #detectors: readonly Goertzel[]
  readonly #frequenciesHz: readonly number[] = [...lowGroupHz, ...highGroupHz]
  readonly #stepS: number
  readonly #minPower: number
  readonly #quietEnergy: number
  /** Ring buffers of the steps in the window: Fourier sums with phases relative to the first sample, and energies. */
  readonly #real: Float64Array
  readonly #imaginary: Float64Array
  readonly #energy = new Float64Array(windowSteps)
  /** Ring buffers of the window sums, for the phase change. */
  readonly #sumReal: Float64Array
  readonly #sumImaginary: Float64Array
  /** The phase of each frequency, and its change in a step. */
  readonly #phaseCosine: Float64Array
  readonly #phaseSine: Float64Array
  readonly #turnCosine: Float64Array
  readonly #turnSine: Float64Array
  #step = 0

  /** @param minLevelDbm0 the minimum level of a tone; on a digital line 0 dBm0 is 3.14 dB below full scale */
  constructor(sampleRateHz: number, minLevelDbm0: number) {
    this.stepSamples = Math.round(sampleRateHz * stepSeconds)
    this.#stepS = this.stepSamples / sampleRateHz
    this.#detectors = this.#frequenciesHz.map(
      (frequencyHz) => new Goertzel(frequencyHz, sampleRateHz, this.stepSamples),
    )
    this.#minPower = fullScalePower * 10 ** ((minLevelDbm0 - fullScaleDbm0) / 10)
    this.#quietEnergy = (this.#minPower / 16) * this.stepSamples
    const size = this.#frequenciesHz.length
    this.#real = new Float64Array(size * windowSteps)
    this.#imaginary = new Float64Array(size * windowSteps)
    this.#sumReal = new Float64Array(size * (phaseSteps + 1))
    this.#sumImaginary = new Float64Array(size * (phaseSteps + 1))
    const turns = this.#frequenciesHz.map((frequencyHz) => 2 * Math.PI * ((frequencyHz * this.#stepS) % 1))
    this.#turnCosine = Float64Array.from(turns, Math.cos)
    this.#turnSine = Float64Array.from(turns, Math.sin)
    this.#phaseCosine = new Float64Array(size).fill(1)
    this.#phaseSine = new Float64Array(size)
  }

  /** Takes `stepSamples` samples from `from` on and returns the result of the window that ends with them. */
  take(samples: Int16Array, from: number): DtmfFrame {
    const slot = this.#step % windowSteps
    let energy = 0
    for (let index = from; index < from + this.stepSamples; index += 1) energy += (samples[index] ?? 0) ** 2
    this.#energy[slot] = energy
    this.#transform(samples, from, slot, energy < this.#quietEnergy)
    this.#sumWindow()
    const frame = this.#judge()
    this.#step += 1
    return frame
  }

  /** Rotates phases relative to the first sample of the step to be relative to the first sample of all. */
  #transform(samples: Int16Array, from: number, slot: number, isQuiet: boolean): void {
    const size = this.#detectors.length
    for (let index = 0; index < size; index += 1) {
      const [cosine, sine] = [this.#phaseCosine[index] ?? 1, this.#phaseSine[index] ?? 0]
      const bin = isQuiet ? undefined : this.#detectors[index]?.sum(samples, from)
      const { real, imaginary } = bin ?? nothing
      this.#real[slot * size + index] = real * cosine + imaginary * sine
      this.#imaginary[slot * size + index] = imaginary * cosine - real * sine
      const [stepCosine, stepSine] = [this.#turnCosine[index] ?? 1, this.#turnSine[index] ?? 0]
      // The error of a product is 1e-16: years of steps stay within a thousandth of a turn. The magnitude is corrected.
      const nextCosine = cosine * stepCosine - sine * stepSine
      const nextSine = sine * stepCosine + cosine * stepSine
      const correction = 1.5 - 0.5 * (nextCosine * nextCosine + nextSine * nextSine)
      this.#phaseCosine[index] = nextCosine * correction
      this.#phaseSine[index] = nextSine * correction
    }
  }

  #sumWindow(): void {
    const size = this.#detectors.length
    const base = (this.#step % (phaseSteps + 1)) * size
    this.#sumReal.fill(0, base, base + size)
    this.#sumImaginary.fill(0, base, base + size)
    for (let age = 0; age < windowSteps; age += 1) {
      const from = ((this.#step + 1 + age) % windowSteps) * size
      const weight = weights[age] ?? 0
      for (let index = 0; index < size; index += 1) {
        this.#sumReal[base + index] = (this.#sumReal[base + index] ?? 0) + weight * (this.#real[from + index] ?? 0)
        this.#sumImaginary[base + index] =
          (this.#sumImaginary[base + index] ?? 0) + weight * (this.#imaginary[from + index] ?? 0)
      }
    }
  }

  #judge(): DtmfFrame {
    const low = this.#strongest(0, lowGroupHz.length)
    const high = low === undefined ? undefined : this.#strongest(lowGroupHz.length, this.#frequenciesHz.length)
    if (low === undefined || high === undefined) return noFrame
    const twistDb = 10 * Math.log10(high.power / low.power)
    const power = low.power + high.power
    const share = power / this.#totalPower()
    if (twistDb > maxTwistDb || twistDb < minTwistDb || share < edgeShare) return noFrame
    const digit = keypad[low.index * highGroupHz.length + high.index - lowGroupHz.length]
    return { digit, amplitude: Math.sqrt(2 * power), isClear: share >= clearShare }
  }

  /** The strongest tone of a group if its level and frequency meet the criteria. */
  #strongest(from: number, to: number): Tone | undefined {
    const base = (this.#step % (phaseSteps + 1)) * this.#frequenciesHz.length
    let index = from
    let square = -1
    for (let candidate = from; candidate < to; candidate += 1) {
      const magnitude = (this.#sumReal[base + candidate] ?? 0) ** 2 + (this.#sumImaginary[base + candidate] ?? 0) ** 2
      if (magnitude > square) {
        square = magnitude
        index = candidate
      }
    }
    const power = (2 * square) / (this.stepSamples * weightSum) ** 2
    // Half the power is enough here: off its frequency a tone loses up to 1.5 dB, which is corrected below.
    if (power < this.#minPower / 2) return undefined
    const errorHz = this.#frequencyErrorHz(index)
    if (Math.abs(errorHz) > maxFrequencyError * (this.#frequenciesHz[index] ?? 0)) return undefined
    const corrected = power / attenuation(errorHz * this.#stepS * windowSteps) ** 2
    return corrected < this.#minPower ? undefined : { index, power: corrected }
  }

  /** The frequency error of the strongest tone near a frequency, from its phase change; within ±100 Hz. */
  #frequencyErrorHz(index: number): number {
    const size = this.#frequenciesHz.length
    const now = (this.#step % (phaseSteps + 1)) * size + index
    const before = ((this.#step + 1) % (phaseSteps + 1)) * size + index
    const [real, imaginary] = [this.#sumReal[now] ?? 0, this.#sumImaginary[now] ?? 0]
    const [oldReal, oldImaginary] = [this.#sumReal[before] ?? 0, this.#sumImaginary[before] ?? 0]
    const angle = Math.atan2(imaginary * oldReal - real * oldImaginary, real * oldReal + imaginary * oldImaginary)
    return angle / (2 * Math.PI * this.#stepS * phaseSteps)
  }

  #totalPower(): number {
    let sum = 0
    for (let age = 0; age < windowSteps; age += 1) {
      sum += (weights[age] ?? 0) ** 2 * (this.#energy[(this.#step + 1 + age) % windowSteps] ?? 0)
    }
    return sum / (this.stepSamples * squareSum)
  }
}

/** One bin of a Fourier transform: the amplitude and phase of one frequency. */
interface Bin {
  readonly real: number
  readonly imaginary: number
}

/**
 * Computes the Fourier sum of samples at one frequency with Goertzel's recursion (American Mathematical Monthly 65,
 * 1958), which needs one multiplication per sample. Phases are relative to the first sample. For a sine of amplitude 1
 * at that frequency the magnitude is half the sample count.
 */
export class Goertzel {
  readonly #coefficient: number
  readonly #cosine: number
  readonly #sine: number
  readonly #backCosine: number
  readonly #backSine: number
  readonly #count: number

  /** @param count samples of each sum */
  constructor(frequencyHz: number, sampleRateHz: number, count: number) {
    const turn = (2 * Math.PI * frequencyHz) / sampleRateHz
    this.#cosine = Math.cos(turn)
    this.#sine = Math.sin(turn)
    this.#coefficient = 2 * this.#cosine
    // The recursion ends with the phase of the last sample; rotate it back to the first.
    this.#backCosine = Math.cos(turn * (count - 1))
    this.#backSine = Math.sin(turn * (count - 1))
    this.#count = count
  }

  sum(samples: Int16Array, from: number): Bin {
    const coefficient = this.#coefficient
    let last = 0
    let beforeLast = 0
    const end = from + this.#count
    // Hot path: runs for every sample and frequency.
    for (let index = from; index < end; index += 1) {
      const now = (samples[index] ?? 0) + coefficient * last - beforeLast
      beforeLast = last
      last = now
    }
    const real = last - this.#cosine * beforeLast
    const imaginary = this.#sine * beforeLast
    return {
      real: real * this.#backCosine + imaginary * this.#backSine,
      imaginary: imaginary * this.#backCosine - real * this.#backSine,
    }
  }
}
