import { samplesOf } from 'rxspeech/audio'
import { GrowingBlob } from './growing-blob.js'
import { Density, Peaks } from './peaks.js'

/** Audio that waits until it is put into a Blob. */
const pieceBytes = 1_048_576

/** The audio of one channel: its peaks for the timeline, and its samples so that words can be played. */
export class AudioTrack {
  readonly sampleRateHz: number
  readonly peaks: Peaks
  /** When partial results arrived. */
  readonly partials = new Density()
  readonly #file = new GrowingBlob()
  readonly #tail = new Uint8Array(pieceBytes)
  #tailBytes = 0

  constructor(sampleRateHz: number) {
    this.sampleRateHz = sampleRateHz
    this.peaks = new Peaks(sampleRateHz)
  }

  get durationMs(): number {
    return this.peaks.durationMs
  }

  /** @param bytes whole samples of 16-bit PCM */
  add(bytes: Uint8Array): void {
    this.peaks.add(samplesOf(bytes))
    for (let at = 0; at < bytes.length;) {
      const part = bytes.subarray(at, at + pieceBytes - this.#tailBytes)
      this.#tail.set(part, this.#tailBytes)
      this.#tailBytes += part.length
      at += part.length
      if (this.#tailBytes === pieceBytes) this.#flush()
    }
  }

  /** The samples between two positions. */
  async read(fromMs: number, toMs: number): Promise<Int16Array<ArrayBuffer>> {
    const byteAt = (ms: number): number => 2 * Math.max(0, Math.round((ms * this.sampleRateHz) / 1000))
    const all = this.blob()
    return new Int16Array(await all.slice(byteAt(fromMs), Math.min(byteAt(toMs), all.size)).arrayBuffer())
  }

  /** All samples so far. */
  blob(): Blob {
    this.#flush()
    return this.#file.whole()
  }

  /** The samples from a position on, which `blob` gave, are in a file of the browser now. */
  moveToDisk(fromBytes: number, file: Blob): void {
    this.#file.moveToDisk(fromBytes, file)
  }

  #flush(): void {
    if (this.#tailBytes === 0) return
    this.#file.append(this.#tail.subarray(0, this.#tailBytes))
    this.#tailBytes = 0
  }
}
