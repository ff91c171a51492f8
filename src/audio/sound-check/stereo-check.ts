import { minBlockPower, type BlockMeasure } from './signal-check.js'
import type { FoundFault } from './sound-warning.js'

/** Blocks of 100 ms in which the other channel has sound. */
const minBlocks = 14
/** The largest range of a channel without a signal: the smallest values of A-law, and dither. */
const maxDeadRange = 16
/** The share of one channel that is not in the other one: -24 dB, which the rounding of G.711 stays below. */
const maxDifference = 0.004
/** How many equal blocks a different one outweighs. */
const differentWeight = 5

/** Finds a channel that has had no signal since the beginning, and channels with the same audio. */
export class StereoCheck {
  /** Blocks of sound that a channel had while the other one had none at all; -1 if the other one has had a signal. */
  readonly #alone = [0, 0]
  #equalBlocks = 0

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
    if (this.#isDead(0, hasLeft, rightMeasure.range)) return { kind: 'dead-channel', channel: 1 }
    if (this.#isDead(1, hasRight, leftMeasure.range)) return { kind: 'dead-channel', channel: 0 }
    if (!hasLeft && !hasRight) return undefined
    if (hasLeft && hasRight && areEqual(left, right, count, leftMeasure, rightMeasure)) this.#equalBlocks += 1
    else this.#equalBlocks = Math.max(this.#equalBlocks - differentWeight, 0)
    return this.#equalBlocks >= minBlocks ? { kind: 'equal-channels' } : undefined
  }

  #isDead(channel: 0 | 1, hasSound: boolean, otherRange: number): boolean {
    const blocks = this.#alone[channel] ?? -1
    if (blocks < 0) return false
    this.#alone[channel] = otherRange > maxDeadRange ? -1 : hasSound ? blocks + 1 : blocks
    return (this.#alone[channel] ?? -1) >= minBlocks
  }
}

/** Whether one channel is the other one, also louder or softer. */
const areEqual = (
  left: Int16Array,
  right: Int16Array,
  count: number,
  leftMeasure: BlockMeasure,
  rightMeasure: BlockMeasure,
): boolean => {
  let product = 0
  for (let i = 0; i < count; i++) product += (left[i] ?? 0) * (right[i] ?? 0)
  const covariance = product / count - leftMeasure.mean * rightMeasure.mean
  const powers = leftMeasure.power * rightMeasure.power
  return covariance > 0 && covariance * covariance >= (1 - maxDifference) * powers
}
