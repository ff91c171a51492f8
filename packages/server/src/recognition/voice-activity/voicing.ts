import { bandFrame } from './telephone-band.js'
import { unpredictedShare } from './tone-test.js'

const windowPoints = 120
const bufferPoints = 240

/** The pitch periods of voices, 400 to 70 Hz. */
const minLag = 20
const maxLag = 114
/**
 * The correlation dips between this lag and the period. Soft noise has no dip, because its neighboring samples are
 * alike.
 */
const firstLag = 4
const minDip = 0.3

/** Noise rarely correlates this well for one frame, and never for two in a row. A fully predictable frame is a tone. */
const minCorrelation = 0.85
const toneShare = 0.005
const minVoicedRun = 2

/**
 * Machine noise is periodic too, but level: means over `meanFrames` that stay within `levelRangeDb` are not a voice.
 */
const meanFrames = 3
const means = 4
const levelRangeDb = 1.5
const levelFrames = meanFrames + means - 1
/** Below this level the history restarts: the onset of a tone is not a movement of a voice. */
const silenceDb = -65

const at = (array: Float64Array, index: number): number => array[index] ?? 0

const windowFrom = bufferPoints - windowPoints

/** Whether the last 15 ms correlate with the signal one pitch period before. */
const isPeriodic = (buffer: Float64Array): boolean => {
  let now = 1
  let before = 1
  for (let index = windowFrom; index < bufferPoints; index += 1) {
    now += at(buffer, index) ** 2
    before += at(buffer, index - firstLag) ** 2
  }
  let lowest = 1
  for (let lag = firstLag; lag <= maxLag; lag += 1) {
    let product = 0
    for (let index = windowFrom; index < bufferPoints; index += 1)
      product += at(buffer, index) * at(buffer, index - lag)
    const value = product / Math.sqrt(now * before)
    lowest = Math.min(lowest, value)
    if (lag >= minLag && value > minCorrelation && value - lowest > minDip) return true
    // The window of the next lag begins and ends one point earlier.
    before += at(buffer, windowFrom - lag - 1) ** 2 - at(buffer, bufferPoints - lag - 1) ** 2
  }
  return false
}

/** Whether the level moves, given the power of each frame. */
const isMoving = (powers: readonly number[]): boolean => {
  if (powers.length < levelFrames) return false
  let lowest = Infinity
  let highest = 0
  for (let first = 0; first < means; first += 1) {
    let sum = 0
    for (let frame = first; frame < first + meanFrames; frame += 1) sum += powers[frame] ?? 0
    lowest = Math.min(lowest, sum)
    highest = Math.max(highest, sum)
  }
  return 10 * Math.log10(highest / lowest) > levelRangeDb
}

/**
 * Detects voiced speech by its pitch: it is periodic with 2.5 to 14 ms, which noise is not; it is not a tone; and its
 * level moves, which that of a machine does not. Unvoiced consonants are not detected. A frame costs about 20 µs, so
 * only some frames are examined.
 */
export class Voicing {
  readonly #buffer = new Float64Array(bufferPoints)
  #powers: readonly number[] = []
  #run = 0

  /**
   * Whether this 10 ms frame and the one before are voiced. All frames must be passed; only candidates are examined.
   */
  isVoiced(frame: Int16Array, levelDb: number, isCandidate: boolean): boolean {
    this.#append(frame)
    this.#powers = levelDb < silenceDb ? [] : [...this.#powers, 10 ** (levelDb / 10)].slice(-levelFrames)
    this.#run = isCandidate && isPeriodic(this.#buffer) && unpredictedShare(frame) > toneShare ? this.#run + 1 : 0
    return this.#run >= minVoicedRun && isMoving(this.#powers)
  }

  #append(frame: Int16Array): void {
    this.#buffer.copyWithin(0, bandFrame)
    this.#buffer.set(frame, bufferPoints - bandFrame)
  }
}
