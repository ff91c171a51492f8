import { minBlockPower, type BlockMeasure } from './signal-check.js'
import type { FoundFault } from './sound-warning.js'

/** Blocks of 100 ms with sound that make a verdict certain. */
const minBlocks = 14
/** So many are enough in speech with pauses, at this block after the first sound. */
const [minSparseBlocks, sparseBlock] = [9, 19]
/**
 * Blocks with sound beside a channel that has had no signal at all. Half a minute, because the leg of a telephone call
 * is digitally silent until its speaker begins, also during a long announcement.
 */
const minDeadBlocks = 300
/** The largest range of a channel without a signal: the smallest values of A-law, and dither. */
const maxDeadRange = 16
/** The share of one channel that is not in the other one: -24 dB, which the rounding of G.711 stays below. */
const maxDifference = 0.004
/** The power ratio (11 dB) beyond which the softer channel counts as echo or sidetone of the other. */
const maxLevelRatio = 12
/** How many equal blocks a different one outweighs. */
const differentWeight = 5

/** Finds a channel without a signal since the beginning, and when it gets one; and channels with the same audio. */
export class StereoCheck {
  /** For each channel that has had no signal: the blocks of sound of the other one. */
  readonly #silent = new Map([
    [0, 0],
    [1, 0],
  ])
  #equalBlocks = 0
  /** The sum of the powers of blocks with sound, and their number. */
  #powers = 0
  #soundBlocks = 0
  /** Since the first block with sound. */
  #blocks = 0

  /** Whether a channel has had no signal, so that each of its blocks is examined for one. */
  isSilent(channel: number): boolean {
    return this.#silent.has(channel)
  }

  /**
   * Examines the range of the samples of a silent channel in a block, and whether the other one has sound. `blocks`:
   * how many blocks this one stands for. Returns the fault once it is certain, and when it is over.
   */
  examineSilent(channel: number, range: number, hasOtherSound: boolean, blocks: number): FoundFault | undefined {
    const before = this.#silent.get(channel) ?? 0
    const isReported = before >= minDeadBlocks
    if (range > maxDeadRange) {
      this.#silent.delete(channel)
      return isReported ? { kind: 'dead-channel', channel, isOver: true } : undefined
    }
    if (isReported || !hasOtherSound) return undefined
    this.#silent.set(channel, before + blocks)
    return before + blocks >= minDeadBlocks ? { kind: 'dead-channel', channel } : undefined
  }

  /** Examines a block of both channels; returns whether they are surely the same. */
  areSame(
    left: Int16Array,
    right: Int16Array,
    count: number,
    leftMeasure: BlockMeasure,
    rightMeasure: BlockMeasure,
  ): boolean {
    const hasLeft = leftMeasure.power >= minBlockPower
    const hasRight = rightMeasure.power >= minBlockPower
    if (hasLeft || hasRight || this.#blocks > 0) this.#blocks += 1
    if (hasLeft || hasRight) {
      if (this.#areEqual(left, right, count, leftMeasure, rightMeasure)) this.#equalBlocks += 1
      else this.#equalBlocks = Math.max(this.#equalBlocks - differentWeight, 0)
    }
    const blocks = this.#equalBlocks
    return blocks >= minBlocks || (blocks >= minSparseBlocks && this.#blocks === sparseBlock)
  }

  /** Whether one channel is the other one, also louder, softer or inverted, beside noise far below the speech. */
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
