import { SampleQueue } from '../../recognition/sample-queue.js'

/** Two equally long stretches of the two sides, which belong to the same time. */
export interface Pair {
  readonly left: Int16Array
  readonly right: Int16Array
}

export type Side = keyof Pair

/**
 * Brings two channels together by their positions: sample n of one and of the other belong together. The faster side
 * waits for the slower, by at most `maxWait` samples; then silence stands in, and what comes for that time is too late.
 */
export class AlignedPair {
  private readonly tails: Readonly<Record<Side, SampleQueue>>
  private told = 0

  constructor(private readonly maxWait: number) {
    this.tails = { left: new SampleQueue(maxWait), right: new SampleQueue(maxWait) }
  }

  /** How many samples have left. */
  get position(): number {
    return this.told
  }

  /** Gives what can leave by now, and how much of what came was too late. */
  add(side: Side, samples: Int16Array): Pair & { readonly lateSamples: number } {
    const tail = this.tails[side]
    tail.append(samples)
    const lateSamples = Math.max(0, Math.min(this.told, tail.end) - tail.begin)
    tail.forgetBefore(this.told)
    const { left, right } = this.tails
    const until = Math.max(Math.min(left.end, right.end), Math.max(left.end, right.end) - this.maxWait)
    return { ...this.take(until), lateSamples }
  }

  /** What still waits, with silence for what will not come. */
  finish(): Pair {
    return this.take(Math.max(this.tails.left.end, this.tails.right.end))
  }

  private take(until: number): Pair {
    const length = Math.max(0, until - this.told)
    const of = (tail: SampleQueue): Int16Array => {
      const taken = tail.take(until)
      if (taken.length === length) return taken
      const filled = new Int16Array(length)
      filled.set(taken)
      return filled
    }
    const pair = { left: of(this.tails.left), right: of(this.tails.right) }
    this.told += length
    return pair
  }
}
