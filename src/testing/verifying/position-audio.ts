/** Samples of the source from one position up to, but not including, another. */
export interface SampleRange {
  /** The first sample, from 0. */
  readonly from: number
  /** The sample behind the last one. */
  readonly to: number
}

/**
 * The value of a sample at a position: two bits for the position modulo four, and 14 bits that depend on the block of
 * four: its low bits, its high bits mixed with the low ones, and two checks. Sufficient for 2^30 samples, 37 hours at
 * 8 kHz.
 */
const valueAt = (position: number): number => {
  const block = Math.floor(position / 4)
  const low = block & 0x3fff
  const parts = [low, ((block >>> 14) & 0x3fff) ^ ((low * 41) & 0x3fff), (low * 4093 + 7) & 0x3fff, ~low & 0x3fff]
  const phase = position % 4
  return (phase << 14) | (parts[phase] ?? 0)
}

/** The block of its first and second sample. */
const blockOf = (first: number, second: number): number => {
  const low = first & 0x3fff
  return (((second & 0x3fff) ^ ((low * 41) & 0x3fff)) << 14) | low
}

/**
 * Audio (16-bit PCM) whose samples encode their positions, so that a service can tell exactly which part of a source
 * arrived. All channels of a frame have the same value; positions count frames.
 *
 * @example
 * const chunks = Array.from({ length: 50 }, (_, chunk) => positionAudio(chunk * 160, 160))
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

/** A run of consecutive samples on one connection. */
export interface ReceivedRun {
  /** The index of its first sample in the audio of the connection. */
  readonly receivedFrom: number
  /** Its samples in the source. */
  readonly source: SampleRange
}

/** More samples than are needed to find the first two of a block. */
const maxUnplaced = 8

/**
 * Reads the audio of one connection and finds the positions of its samples. Messages can end anywhere.
 *
 * @example
 * const reader = new PositionReader()
 * reader.take(positionAudio(0, 160))
 * console.log(reader.runs) // [{ receivedFrom: 0, source: { from: 0, to: 160 } }]
 */
export class PositionReader {
  readonly #runs: { receivedFrom: number; from: number; to: number }[] = []
  readonly #frameBytes: number
  #partialFrame = new Uint8Array(0)
  #unplaced: number[] = []
  #received = 0
  #foreign = 0

  /** A reader of the audio of one connection, mono unless `channels` is 2. */
  constructor(channels: 1 | 2 = 1) {
    this.#frameBytes = channels * 2
  }

  /** The number of whole frames. */
  get receivedSamples(): number {
    return this.#received
  }

  /** The number of frames that are not position audio. */
  get foreignSamples(): number {
    return this.#foreign
  }

  /** The runs of samples so far, in the order in which they arrived. */
  get runs(): readonly ReceivedRun[] {
    return this.#runs.map(({ receivedFrom, from, to }) => ({ receivedFrom, source: { from, to } }))
  }

  /** Reads the bytes of the next message. */
  take(bytes: Uint8Array): void {
    const all = this.#partialFrame.length === 0 ? bytes : Buffer.concat([this.#partialFrame, bytes])
    const wholeBytes = all.length - (all.length % this.#frameBytes)
    const view = new DataView(all.buffer, all.byteOffset, wholeBytes)
    for (let at = 0; at < wholeBytes; at += this.#frameBytes) this.#place(view.getUint16(at, true))
    this.#partialFrame = Uint8Array.from(all.subarray(wholeBytes))
  }

  #place(value: number): void {
    this.#received += 1
    const run = this.#runs.at(-1)
    if (run !== undefined && this.#unplaced.length === 0 && valueAt(run.to) === value) {
      run.to += 1
      return
    }
    this.#unplaced.push(value)
    const from = positionOf(this.#unplaced)
    if (from !== undefined) {
      this.#runs.push({ receivedFrom: this.#received - this.#unplaced.length, from, to: from + this.#unplaced.length })
      this.#unplaced = []
    } else if (this.#unplaced.length >= maxUnplaced) {
      this.#unplaced.shift()
      this.#foreign += 1
    }
  }
}

/** The position of consecutive samples, once they contain the first two of a block. */
const positionOf = (values: readonly number[]): number | undefined => {
  const first = values.findIndex((value, index) => value >> 14 === 0 && (values[index + 1] ?? 0) >> 14 === 1)
  if (first === -1) return undefined
  const from = blockOf(values[first] ?? 0, values[first + 1] ?? 0) * 4 - first
  return from >= 0 && values.every((value, index) => valueAt(from + index) === value) ? from : undefined
}
