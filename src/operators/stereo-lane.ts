import type { Encoding } from '../audio/format.js'
import { ByteQueue } from './byte-queue.js'
import { cutSample } from './whole-frames.js'

/** What a sample of silence is: 0 in PCM, the code of the smallest positive value in G.711 (ITU-T G.711, tables 1a, 2a). */
const silences: Readonly<Record<Encoding, number>> = { pcm: 0, ulaw: 0xff, alaw: 0xd5 }

/** Samples of one side, counted from its first. */
export interface Span {
  readonly from: number
  readonly to: number
}

/**
 * One side of a stereo pair, counted in samples: what waits for the other side, and for how much silence stood in.
 * Where late audio is dropped, sample n of the side always stands in frame n.
 */
export class StereoLane {
  state: 'open' | 'ended' = 'open'
  readonly #sampleBytes: number
  readonly #silence: number
  readonly #dropsLate: boolean
  readonly #queue = new ByteQueue()
  #came = 0
  /** Samples that silence stood in for and that have not come yet. */
  #owed = 0

  constructor(encoding: Encoding, sampleBytes: number, late: 'drop' | 'shift') {
    this.#silence = silences[encoding]
    this.#sampleBytes = sampleBytes
    this.#dropsLate = late === 'drop'
  }

  /** Whole samples that wait. */
  get waiting(): number {
    return Math.floor(this.#queue.size / this.#sampleBytes)
  }

  /** Takes audio in; returns what of it came after silence had stood in for it, and is dropped. */
  add(slice: Uint8Array): Span {
    const waitedBefore = this.waiting
    this.#queue.add(slice)
    const from = this.#came
    this.#came += this.waiting - waitedBefore
    const late = Math.min(this.#owed, this.waiting)
    this.#owed -= late
    this.#queue.take(late * this.#sampleBytes)
    return { from, to: from + late }
  }

  /** The next `count` samples; the last `filled` of them are silence because no more were there. */
  take(count: number): { readonly bytes: Uint8Array; readonly filled: number } {
    const held = Math.min(count, this.waiting)
    const filled = count - held
    const audio = this.#queue.take(held * this.#sampleBytes)
    if (filled === 0) return { bytes: audio, filled }
    if (this.#dropsLate) this.#owed += filled
    const bytes = new Uint8Array(count * this.#sampleBytes).fill(this.#silence)
    bytes.set(audio)
    return { bytes, filled }
  }

  /** Throws `cut-sample` when a part of a sample is left. */
  assertNothingCut(): void {
    if (this.#queue.size > 0) throw cutSample(this.#queue.size, this.#sampleBytes)
  }
}
