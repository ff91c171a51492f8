import { deinterleaveChannels } from '../../audio/channels.js'
import { bytesPerFrame, bytesPerSample, type AudioFormat } from '../../audio/format.js'
import { FrameAligner } from '../../audio/frame-aligner.js'
import type { Puller } from '../../operators/interop/pull.js'

/** The audio of the left and of the right channel. */
export type Pair = readonly [left: Uint8Array, right: Uint8Array]

/** Splits stereo audio that may be cut anywhere; an incomplete frame is carried into the next chunk. */
export class ChannelSplitter {
  readonly #frames: FrameAligner
  readonly #sampleBytes: 1 | 2

  constructor(format: AudioFormat) {
    this.#frames = new FrameAligner(bytesPerFrame(format))
    this.#sampleBytes = bytesPerSample(format)
  }

  /** The same number of samples of each channel; none if the chunk does not complete a frame. */
  split(chunk: Uint8Array): Pair {
    return deinterleaveChannels(this.#frames.push(chunk), this.#sampleBytes)
  }

  /** The parts of a frame that was cut at the end, for each channel, whose session reports them as a gap. */
  rest(): Pair {
    const cut = this.#frames.rest()
    return [cut.subarray(0, this.#sampleBytes), cut.subarray(this.#sampleBytes)]
  }
}

/** How many chunks one channel may run ahead of the other before it waits. */
export const maxAheadChunks = 64

/**
 * Splits a pulled stereo source into two pulled mono sources. The channel that needs audio first pulls for both. A
 * channel that runs ahead waits for the other, so that memory is bounded. The source is released when both channels
 * have ended.
 */
export const splitPulled = (
  puller: Puller<Uint8Array>,
  format: AudioFormat,
): readonly [AsyncIterable<Uint8Array>, AsyncIterable<Uint8Array>] => {
  const split = new PulledSplit(puller, format)
  return [split.channel(0), split.channel(1)]
}

type Channel = 0 | 1
type Answer = IteratorResult<Uint8Array, undefined>

class PulledSplit {
  readonly #puller: Puller<Uint8Array>
  readonly #splitter: ChannelSplitter
  readonly #waiting: readonly [Uint8Array[], Uint8Array[]] = [[], []]
  readonly #released: [boolean, boolean] = [false, false]
  /** How the source ended: both channels end in the same way, each after its audio. */
  #end: { readonly error?: unknown } | undefined
  #pull: Promise<void> | undefined
  #change: { readonly promise: Promise<void>; readonly signal: () => void } = changeSignal()

  constructor(puller: Puller<Uint8Array>, format: AudioFormat) {
    this.#puller = puller
    this.#splitter = new ChannelSplitter(format)
  }

  channel(own: Channel): AsyncIterable<Uint8Array> {
    const next = (): Promise<Answer> => this.#next(own)
    const release = (): Promise<Answer> => {
      this.#release(own)
      return Promise.resolve({ done: true, value: undefined })
    }
    return { [Symbol.asyncIterator]: () => ({ next, return: release }) }
  }

  async #next(own: Channel): Promise<Answer> {
    while (!this.#released[own]) {
      const chunk = this.#waiting[own].shift()
      if (chunk !== undefined) {
        this.#changed()
        return { done: false, value: chunk }
      }
      if (this.#end !== undefined) {
        if ('error' in this.#end) throw this.#end.error
        break
      }
      if (this.#isFarBehind(otherOf(own))) await this.#change.promise
      else await (this.#pull ??= this.#pullBoth())
    }
    return { done: true, value: undefined }
  }

  #isFarBehind(channel: Channel): boolean {
    return !this.#released[channel] && this.#waiting[channel].length >= maxAheadChunks
  }

  #release(own: Channel): void {
    this.#released[own] = true
    this.#waiting[own].length = 0
    this.#changed()
    if (this.#released[otherOf(own)] && this.#end === undefined) this.#puller.release()
  }

  /** Does not reject: the end of the source is stored for both channels. */
  async #pullBoth(): Promise<void> {
    try {
      const result = await this.#puller.next()
      if (result.done === true) {
        this.#share(this.#splitter.rest())
        this.#end = {}
      } else this.#share(this.#splitter.split(result.value))
    } catch (error) {
      this.#end = { error }
    } finally {
      this.#pull = undefined
    }
  }

  #share(pair: Pair): void {
    for (const channel of [0, 1] as const) {
      if (!this.#released[channel] && pair[channel].length > 0) this.#waiting[channel].push(pair[channel])
    }
  }

  #changed(): void {
    this.#change.signal()
    this.#change = changeSignal()
  }
}

const otherOf = (channel: Channel): Channel => (channel === 0 ? 1 : 0)

const changeSignal = (): { readonly promise: Promise<void>; readonly signal: () => void } => {
  let signal = (): void => undefined
  const promise = new Promise<void>((resolve) => {
    signal = resolve
  })
  return { promise, signal }
}
