import type { SampleRange } from './sample-ranges.js'

/**
 * The value of a sample at a position: two bits for the position modulo four, and 14 of the block of four: its low bits,
 * its high bits mixed with the low ones, and twice a check. Good for 2^30 samples, 37 hours at 8 kHz.
 */
const valueAt = (position: number): number => {
  const block = Math.floor(position / 4)
  const low = block & 0x3fff
  const parts = [low, ((block >>> 14) & 0x3fff) ^ ((low * 41) & 0x3fff), (low * 4093 + 7) & 0x3fff, ~low & 0x3fff]
  const phase = position % 4
  return (phase << 14) | (parts[phase] ?? 0)
}

/** The block that a first and a second sample of it name. */
const blockOf = (first: number, second: number): number => {
  const low = first & 0x3fff
  return (((second & 0x3fff) ^ ((low * 41) & 0x3fff)) << 14) | low
}

/**
 * Audio (16-bit PCM) whose every sample says at what position it stands, so that a service can tell exactly which part
 * of a source arrived. All channels of a frame say the same; positions count frames.
 */
export const positionAudio = (fromSample: number, sampleCount: number, channels: 1 | 2 = 1): Uint8Array => {
  const bytes = new Uint8Array(sampleCount * channels * 2)
  const view = new DataView(bytes.buffer)
  for (let index = 0; index < sampleCount; index += 1) {
    const value = valueAt(fromSample + index)
    for (let channel = 0; channel < channels; channel += 1) {
      view.setUint16((index * channels + channel) * 2, value, true)
    }
  }
  return bytes
}

/** A stretch of one connection's audio: where it stands in that, and in the source. */
export interface HeardRun {
  /** From the first sample of the connection's audio. */
  readonly heardFrom: number
  readonly source: SampleRange
}

/** More samples than it takes to find a block's first two, whatever comes first. */
const mostUnplaced = 8

/** Follows the audio of one connection, and finds the positions of its samples. Bytes may be cut anywhere. */
export class PositionReader {
  readonly #runs: { heardFrom: number; from: number; to: number }[] = []
  readonly #frameBytes: number
  #cut = new Uint8Array(0)
  #unplaced: number[] = []
  #heard = 0
  #foreign = 0

  constructor(channels: 1 | 2 = 1) {
    this.#frameBytes = channels * 2
  }

  /** Whole frames that came. */
  get heardSamples(): number {
    return this.#heard
  }

  /** Frames that are of no such audio. */
  get foreignSamples(): number {
    return this.#foreign
  }

  get runs(): readonly HeardRun[] {
    return this.#runs.map(({ heardFrom, from, to }) => ({ heardFrom, source: { from, to } }))
  }

  take(bytes: Uint8Array): void {
    const all = this.#cut.length === 0 ? bytes : Buffer.concat([this.#cut, bytes])
    const whole = all.length - (all.length % this.#frameBytes)
    const view = new DataView(all.buffer, all.byteOffset, whole)
    for (let at = 0; at < whole; at += this.#frameBytes) this.#place(view.getUint16(at, true))
    this.#cut = Uint8Array.from(all.subarray(whole))
  }

  #place(value: number): void {
    this.#heard += 1
    const run = this.#runs.at(-1)
    if (run !== undefined && this.#unplaced.length === 0 && valueAt(run.to) === value) {
      run.to += 1
      return
    }
    this.#unplaced.push(value)
    const from = positionOf(this.#unplaced)
    if (from !== undefined) {
      this.#runs.push({ heardFrom: this.#heard - this.#unplaced.length, from, to: from + this.#unplaced.length })
      this.#unplaced = []
    } else if (this.#unplaced.length >= mostUnplaced) {
      this.#unplaced.shift()
      this.#foreign += 1
    }
  }
}

/** Where samples that follow each other stand, once they hold the first two of a block. */
const positionOf = (values: readonly number[]): number | undefined => {
  const first = values.findIndex((value, index) => value >> 14 === 0 && (values[index + 1] ?? 0) >> 14 === 1)
  if (first === -1) return undefined
  const from = blockOf(values[first] ?? 0, values[first + 1] ?? 0) * 4 - first
  return from >= 0 && values.every((value, index) => valueAt(from + index) === value) ? from : undefined
}
