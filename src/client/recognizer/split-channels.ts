import { deinterleaveChannels } from '../../audio/channels.js'
import { bytesPerFrame, bytesPerSample, type AudioFormat } from '../../audio/format.js'
import { joinBytes } from '../../audio/join-bytes.js'

/** The audio of the left channel and of the right. */
export type Pair = readonly [left: Uint8Array, right: Uint8Array]

/** Parts stereo audio that may be cut anywhere; less than a frame is carried into the next chunk. */
export class ChannelSplitter {
  readonly #frameBytes: number
  readonly #sampleBytes: 1 | 2
  #cut: Uint8Array = new Uint8Array(0)

  constructor(format: AudioFormat) {
    this.#frameBytes = bytesPerFrame(format)
    this.#sampleBytes = bytesPerSample(format)
  }

  /** Equally many samples of each channel; none where the chunk does not complete a frame. */
  split(chunk: Uint8Array): Pair {
    const bytes = this.#cut.length === 0 ? chunk : joinBytes(this.#cut, chunk)
    const whole = bytes.length - (bytes.length % this.#frameBytes)
    this.#cut = new Uint8Array(bytes.subarray(whole))
    return deinterleaveChannels(bytes.subarray(0, whole), this.#sampleBytes)
  }

  /** What is left of a frame that was cut at the end, each part with its channel, where the session tells it. */
  rest(): Pair {
    const cut = this.#cut
    this.#cut = new Uint8Array(0)
    return [cut.subarray(0, this.#sampleBytes), cut.subarray(this.#sampleBytes)]
  }
}
