import { unpredictedShare } from './tone-test.js'

/** A frame is brought to this many samples (8 kHz), so that the test means the same at every rate. */
const framePoints = 80
const windowPoints = 120
const heardPoints = 240

/** The periods of voices, 400 to 70 Hz. */
const shortestLag = 20
const longestLag = 114
/** From here on likeness is looked at for the dip before the period; soft noise has none, its neighbors are just alike. */
const firstLag = 4
const dip = 0.3

/** Noise repeats itself so well in hardly a frame, and never in two in a row; what a predictor explains whole is a tone. */
const alikeness = 0.85
const toneShare = 0.005
const runOfVoice = 2

/** Machines repeat themselves too, but at one level: means over `meanFrames` that stay in `levelRangeDb` are no voice. */
const meanFrames = 3
const means = 4
const levelRangeDb = 2.5
const levelFrames = meanFrames + means - 1
/** Below this nothing is heard; what sets in from there, as a tone does, is no movement of a voice. */
const silenceDb = -65

const at = (array: Float64Array, index: number): number => array[index] ?? 0

/** How alike the last 15 ms are to what was `lag` points before: 1 for the same shape, 0 for another, -1 upside down. */
const likeness = (heard: Float64Array, lag: number): number => {
  let product = 0
  let now = 1
  let before = 1
  for (let index = heardPoints - windowPoints; index < heardPoints; index += 1) {
    const sample = at(heard, index)
    const former = at(heard, index - lag)
    product += sample * former
    now += sample * sample
    before += former * former
  }
  return product / Math.sqrt(now * before)
}

const repeats = (heard: Float64Array): boolean => {
  let lowest = 1
  for (let lag = firstLag; lag <= longestLag; lag += 1) {
    const like = likeness(heard, lag)
    lowest = Math.min(lowest, like)
    if (lag >= shortestLag && like > alikeness && like - lowest > dip) return true
  }
  return false
}

/** Whether the level, of powers frame by frame, goes up or down. */
const moves = (powers: readonly number[]): boolean => {
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
 * Knows a voice by the glottis: its sound repeats itself with a period of 2.5 to 14 ms, which noise doesn't, it isn't a
 * tone, and its level moves, which that of a machine doesn't. Consonants without voice are not known. It costs some 40 µs
 * a frame, so it isn't meant for all frames.
 */
export class Voicing {
  private readonly heard = new Float64Array(heardPoints)
  private powers: readonly number[] = []
  private run = 0

  /** Whether this frame, 10 ms, and the one before are voiced. Frames must come in order; `candidate`: whether to look. */
  of(frame: Int16Array, levelDb: number, candidate: boolean): boolean {
    this.append(frame)
    this.powers = levelDb < silenceDb ? [] : [...this.powers, 10 ** (levelDb / 10)].slice(-levelFrames)
    this.run = candidate && repeats(this.heard) && unpredictedShare(frame) > toneShare ? this.run + 1 : 0
    return this.run >= runOfVoice && moves(this.powers)
  }

  private append(frame: Int16Array): void {
    const step = frame.length / framePoints
    this.heard.copyWithin(0, framePoints)
    for (let point = 0; point < framePoints; point += 1) {
      let sum = 0
      for (let offset = 0; offset < step; offset += 1) sum += frame[point * step + offset] ?? 0
      this.heard[heardPoints - framePoints + point] = sum / step
    }
  }
}
