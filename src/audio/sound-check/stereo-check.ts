import { minBlockPower, type BlockMeasure } from './signal-check.js'
import type { FoundFault } from './sound-warning.js'

/** Blocks of 100 ms with sound that make a verdict certain. */
const minBlocks = 14
/** So many are enough in speech with pauses, at this block after the first sound. */
const [minSparseBlocks, sparseBlock] = [9, 19]
/** The largest range of a channel without a signal: the smallest values of A-law, and dither. */
const maxDeadRange = 16
/** The share of one channel that is not in the other one: -24 dB, which the rounding of G.711 stays below. */
const maxDifference = 0.004
/** As powers: 11 dB. What is softer beside a speaker is his echo or sidetone in the channel of the other one. */
const maxLevelRatio = 12
/** How many equal blocks a different one outweighs. */
const differentWeight = 5

/** Finds a channel that has had no signal since the beginning, and channels with the same audio. */
export class StereoCheck {
  /** Blocks of sound that a channel had while the other one had none at all; -1 if the other one has had a signal. */
  readonly #alone = [0, 0]
  #equalBlocks = 0
  /** The sum of the powers of blocks with sound, and their number. */
  #powers = 0
  #soundBlocks = 0
  /** Since the first block with sound. */
  #blocks = 0

  /** Examines a block of both channels; returns the fault once it is certain. */
  examine(
    left: Int16Array,
    right: Int16Array,
    count: number,
    leftMeasure: BlockMeasure,
    rightMeasure: BlockMeasure,
  ): FoundFault | undefined {
    const hasLeft = leftMeasure.power >= minBlockPower
    const hasRight = rightMeasure.power >= minBlockPower
    if (hasLeft || hasRight || this.#blocks > 0) this.#blocks += 1
    if (this.#isDead(0, hasLeft, rightMeasure, right, count)) return { kind: 'dead-channel', channel: 1 }
    if (this.#isDead(1, hasRight, leftMeasure, left, count)) return { kind: 'dead-channel', channel: 0 }
    if (hasLeft || hasRight) {
      if (this.#areEqual(left, right, count, leftMeasure, rightMeasure)) this.#equalBlocks += 1
      else this.#equalBlocks = Math.max(this.#equalBlocks - differentWeight, 0)
    }
    return this.#isEnough(this.#equalBlocks) ? { kind: 'equal-channels' } : undefined
  }

  #isDead(channel: 0 | 1, hasSound: boolean, { range }: BlockMeasure, other: Int16Array, count: number): boolean {
    const blocks = this.#alone[channel] ?? -1
    if (blocks < 0) return false
    const hasSignal = range > maxDeadRange || rangeOf(other, count) > maxDeadRange
    this.#alone[channel] = hasSignal ? -1 : hasSound ? blocks + 1 : blocks
    return this.#isEnough(this.#alone[channel] ?? -1)
  }

  #isEnough(blocks: number): boolean {
    return blocks >= minBlocks || (blocks >= minSparseBlocks && this.#blocks === sparseBlock)
  }

  /** Whether one channel is the other one, also louder, softer or inverted, beside noise that is far below the speech. */
  #areEqual(
    left: Int16Array,
    right: Int16Array,
    count: number,
    { power: leftPower, mean: leftMean }: BlockMeasure,
    { power: rightPower, mean: rightMean }: BlockMeasure,
  ): boolean {
    const powers = leftPower * rightPower
    const power = Math.sqrt(powers)
    this.#powers += power
    this.#soundBlocks += 1
    if (Math.max(leftPower, rightPower) > maxLevelRatio * Math.min(leftPower, rightPower)) return false
    let product = 0
    for (let i = 0; i < count; i++) product += (left[i] ?? 0) * (right[i] ?? 0)
    const covariance = product / count - leftMean * rightMean
    const difference = power - (covariance * covariance) / power
    return difference <= maxDifference * Math.max(power, this.#powers / this.#soundBlocks)
  }
}

const rangeOf = (samples: Int16Array, count: number): number => {
  let [min, max] = [samples[0] ?? 0, samples[0] ?? 0]
  for (let i = 1; i < count; i++) {
    min = Math.min(min, samples[i] ?? 0)
    max = Math.max(max, samples[i] ?? 0)
  }
  return max - min
}
