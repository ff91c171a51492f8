import { bandFrame, bandRateHz } from './telephone-band.js'

const windowPoints = 160
const bufferPoints = 320
const windowFrom = bufferPoints - windowPoints
/** The number of frames that fill a window and the longest period before it. */
const fillFrames = 3

/** Noise of rooms is strong below this frequency, where voices have nothing. */
const cornerHz = 120
const highPassShare = 1 - Math.exp((-2 * Math.PI * cornerHz) / bandRateHz)

/** The pitch periods of voices, 400 to 70 Hz. */
const minLag = 20
const maxLag = 114
/** The correlation dips between this lag and the period. */
const firstLag = 4
const minDip = 0.5
/** Half as much noise as voice leaves this correlation. Noise alone has it for one frame now and then. */
const minCorrelation = 0.65
/** A longer period must correlate better by this, because two periods correlate as well as one. */
const margin = 0.02

/** From one frame to the next the period of a voice changes by less than this share, or by two points. */
const maxDrift = 0.12
const minDriftPoints = 2
/** Noise has a steady period for fewer frames. */
const minRun = 4
/** The number of points that are kept. */
const maxRun = 40
/**
 * The level moves if means over `meanFrames` differ by this, and the pitch if the period does by this number of points.
 */
const meanFrames = 3
const levelRangeDb = 1.5
const periodRangePoints = 3

const at = (array: Float64Array, index: number): number => array[index] ?? 0

/** The period of the last 20 ms, in points; 0 if they have none. */
const periodOf = (buffer: Float64Array): number => {
  let now = 1
  let before = 1
  for (let index = windowFrom; index < bufferPoints; index++) {
    now += at(buffer, index) ** 2
    before += at(buffer, index - firstLag) ** 2
  }
  let lowest = 1
  let highest = minCorrelation - margin
  let period = 0
  for (let lag = firstLag; lag <= maxLag; lag++) {
    let product = 0
    for (let index = windowFrom; index < bufferPoints; index++) product += at(buffer, index) * at(buffer, index - lag)
    const value = product / Math.sqrt(now * before)
    lowest = Math.min(lowest, value)
    if (lag >= minLag && value > highest + margin && value - lowest > minDip) {
      highest = value
      period = lag
    }
    // The window of the next lag begins and ends one point earlier.
    before += at(buffer, windowFrom - lag - 1) ** 2 - at(buffer, bufferPoints - lag - 1) ** 2
  }
  return period
}

/** Whether a sound has a pitch, and whether its level or the pitch moves. */
export type Pitch = 'none' | 'level' | 'moving'

/**
 * Follows the pitch of a sound from frame to frame. A voice in noise has a period that is steady for longer than that
 * of noise alone, and its level or its pitch moves, unlike those of a machine. A frame costs about 25 µs.
 */
export class PitchTrack {
  readonly #buffer = new Float64Array(bufferPoints)
  #low = 0
  #last = 0
  #earlier = 0
  #frames = 0
  /** The period and the power of the last frames since the period is steady. */
  #periods: readonly number[] = []
  #powers: readonly number[] = []

  /** Takes in the next 10 ms, all of which must be passed. Only loud frames have a pitch. */
  observe(frame: Int16Array, isLoud: boolean): Pitch {
    this.#append(frame)
    this.#frames += 1
    this.#follow(isLoud && this.#frames >= fillFrames ? periodOf(this.#buffer) : 0)
    if (this.#periods.length < minRun) return 'none'
    return this.#isMoving ? 'moving' : 'level'
  }

  #follow(period: number): void {
    const last = this.#periods.at(-1) ?? 0
    const isSteady = last > 0 && Math.abs(period - last) <= Math.max(minDriftPoints, maxDrift * last)
    if (!isSteady) {
      this.#periods = []
      this.#powers = []
    }
    if (period === 0) return
    let power = 0
    for (let index = bufferPoints - bandFrame; index < bufferPoints; index++) power += at(this.#buffer, index) ** 2
    this.#periods = [...this.#periods, period].slice(-maxRun)
    this.#powers = [...this.#powers, power].slice(-maxRun)
  }

  get #isMoving(): boolean {
    if (Math.max(...this.#periods) - Math.min(...this.#periods) >= periodRangePoints) return true
    let lowest = Infinity
    let highest = 0
    // The first frame may be filled in part.
    for (let from = 1; from + meanFrames <= this.#powers.length; from += 1) {
      const sum = this.#powers.slice(from, from + meanFrames).reduce((all, power) => all + power, 0)
      lowest = Math.min(lowest, sum)
      highest = Math.max(highest, sum)
    }
    return highest > 0 && 10 * Math.log10(highest / lowest) > levelRangeDb
  }

  /** With little above 1 kHz, and without what is below voices. */
  #append(frame: Int16Array): void {
    this.#buffer.copyWithin(0, bandFrame)
    for (let point = 0; point < bandFrame; point += 1) {
      const sample = frame[point] ?? 0
      this.#low += highPassShare * (sample - this.#low)
      const high = sample - this.#low
      this.#buffer[bufferPoints - bandFrame + point] = (high + 2 * this.#last + this.#earlier) / 4
      this.#earlier = this.#last
      this.#last = high
    }
  }
}
